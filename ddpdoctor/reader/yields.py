"""What the yields of a script's own loader give: which loaders the batches are from that a round of a loop gets."""

import ast
from collections.abc import Sequence

from ddpdoctor.events import Loop
from ddpdoctor.reader.abstract import Abstract, External, Items, Opaque
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.iteration import batch_tags, passes, yielded_through
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def of_the_round_before(value: Abstract, loops: Sequence[Loop]) -> Abstract:
    """Return what a generator yields that keeps each batch for a round: a name that has no value yet is a batch.

    ``input``, which many have for a batch, is a function of Python's till then.
    """
    drawn = [("loader", loader) for loop in loops for loader in loop.loaders]
    if not drawn:
        return value
    if isinstance(value, Items) and not value.open:
        return Items([of_the_round_before(item, loops) for item in value.items], value.kind)
    unset = isinstance(value, Opaque) and not value.tags and not value.parts and value.expression is None
    if unset or isinstance(value, External):
        return Opaque(text(value), batch_tags(frozenset(drawn)))
    return value


def drawing(loops: tuple[Loop, ...], depth: int, value: Abstract) -> tuple[Loop, ...]:
    """Return the loops around a yield; after a generator's own loop, its last batches are the outer loop's still."""
    known_ones = {loader for loop in loops[depth:] for loader in loop.loaders}
    tags = value.tags.union(*(item.tags for item in value.items)) if isinstance(value, Items) else value.tags
    drawn = {tag[1] for tag in tags if isinstance(tag, tuple) and tag[0] == "batch"} - known_ones
    if not drawn:
        return loops
    late = loops[depth].with_(loaders=tuple(sorted(drawn, key=lambda ref: ref.place)))
    return (*loops[:depth], late, *loops[depth + 1 :])


def own_item(walk: Walk, iterated: Abstract, node: ast.AST, loop: Loop) -> tuple[Abstract, Abstract] | None:
    """Return what the ``__next__`` of an iterator of the project gives, and what a round sees of it."""
    inner = iterated
    while isinstance(inner, Made) and inner.args and passes(inner):
        inner = inner.args[0]
    method = class_attribute(walk, inner.cls, "__next__") if isinstance(inner, Object) else None
    if not isinstance(method, Function):
        return None
    item = walk.call_with(Bound(method, inner), node=node)
    return item, yielded_through(walk, iterated, item, node, loop)

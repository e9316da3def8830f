"""Comprehensions: what they make, and the rounds that they take for it."""

import ast
from collections.abc import Callable, Sequence

from ddpdoctor.reader.abstract import Abstract, Items, Table
from ddpdoctor.reader.formulas import is_about
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.loops import rounds
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.walk import Walk


def comprehension(
    walk: Walk, node: "ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp", frame: Frame
) -> Abstract:
    """Return what a comprehension makes; its element is evaluated as a loop's body is."""
    inner = Frame(frame.module, {}, function=frame.function, parent=frame, owner=frame.owner)
    inner.receiver, inner.on_yield = frame.receiver, frame.on_yield
    found: list[Abstract] = []
    table = Table()
    exact = len(node.generators) == 1 and not node.generators[0].ifs

    def element() -> None:
        if isinstance(node, ast.DictComp):
            key = walk.evaluate(node.key, inner)
            walk.tables.set_item(walk, table, key, walk.evaluate(node.value, inner), node)
        else:
            found.append(walk.evaluate(node.elt, inner))

    before, loops = walk.path, walk.loops
    dealt = _nested(walk, node.generators, inner, element)
    walk.path, walk.loops = before, loops
    made = table if isinstance(node, ast.DictComp) else Items(found, "list", more=not exact or len(found) < 2)
    made.extra |= dealt
    return made


def _nested(walk: Walk, generators: Sequence[ast.comprehension], inner: Frame, element: Callable[[], None]) -> Tags:
    """Run the loops of a comprehension, one in the other; return what a test of ranks in them makes of the result."""
    generator, further = generators[0], generators[1:]
    iterated = walk.evaluate(generator.iter, inner)
    dealt = NO_TAGS

    def body(item: Abstract) -> None:
        nonlocal dealt
        assign(walk, generator.target, item, inner)
        for test in generator.ifs:
            formula = walk.test(test, inner)
            if is_about(formula, "rank"):
                dealt = frozenset({"shard"})
            here = walk.assuming(formula)
            if here is None:
                return
            walk.path = here
        if further:
            dealt |= _nested(walk, further, inner, element)
        else:
            element()

    rounds(walk, generator.iter, iterated, inner, body, kind="comprehension")
    return dealt

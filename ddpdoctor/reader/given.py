"""Which models' parameters a value holds: the generator, the list or the groups of them that an optimiser is given."""

from collections.abc import Iterator

from ddpdoctor.reader.abstract import Abstract, Choice, Items, Table
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import Tags
from ddpdoctor.value import Ref


def models_given_to(optimizer: Made) -> Iterator[Ref]:
    """Yield the models whose parameters an optimiser was made with."""
    for given in (*optimizer.args[:2], optimizer.kwargs.get("params")):
        if given is not None:
            yield from models_in(given)


def models_in(value: Abstract, depth: int = 0) -> Iterator[Ref]:
    """Yield the models whose parameters are in what an optimiser is given: a generator, a list, groups of them."""
    if depth > MAX_NESTING:
        return
    for tag in value.tags:
        if isinstance(tag, tuple) and tag[0] in ("parameter", "parameters") and isinstance(tag[1], Ref):
            yield tag[1]
    if isinstance(value, Made) and value.path.endswith("parameters") and isinstance(value.inner, (Made, Object)):
        yield value.inner.ref
        return
    parts: list[Abstract] = []
    if isinstance(value, Made):
        parts = [*value.args, *value.kwargs.values()]
    elif isinstance(value, Items):
        parts = value.items[:MAX_GROUPS]
    elif isinstance(value, Table):
        parts = [cell[-1][1] for cell in value.cells.values()]
    elif isinstance(value, Choice):
        parts = [option for _, option in value.options]
    for part in parts:
        yield from models_in(part, depth + 1)


MAX_NESTING = 4
MAX_GROUPS = 8
"""How many groups of parameters are looked at, and how deep they may lie in each other."""


def added(left: Abstract, right: Abstract) -> Tags:
    """Return what the sum of two lists of parameters keeps of them: whose they are."""
    return whose(left) | whose(right) if isinstance(left, Made) or isinstance(right, Made) else frozenset()


def whose(value: Abstract) -> Tags:
    """Return the tags of what the parameters in a value were put into."""
    return frozenset(("parameters", ref) for ref in models_in(value))

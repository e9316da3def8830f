"""What a name that is not known chooses: one of the functions and classes of a table or a module."""

from collections.abc import Iterable

from ddpdoctor.atom import Condition, Literal
from ddpdoctor.consequences import since
from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, Rest, Table, known
from ddpdoctor.reader.cells import MAX_OPTIONS, choice, read
from ddpdoctor.reader.imports import module_attribute
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

MAX_NAMED = 60
"""How many functions and classes one name chooses from at the most."""


def one_registered(walk: Walk, holder: Table, key: Abstract) -> Abstract | None:
    """Return one of the functions, classes or objects that a table holds, ``None`` where it holds others too."""
    found = {str(name): read(cell, walk.path) for name, cell in holder.cells.items()}
    if not found or not all(map(_is_made_for_use, found.values())):
        return None
    return _one_of(walk, found, key)


def _is_made_for_use(value: Abstract) -> bool:
    """Whether a value is a function, a class or an object, or a tuple that begins with one."""
    if isinstance(value, Items) and value.items and not value.open:
        return _is_made_for_use(value.items[0])
    return isinstance(value, (Function, Class, Bound, Partial, Object, Made))


def one_of_module(walk: Walk, module: Module, key: Abstract) -> Abstract | None:
    """Return one of the functions or classes that a module has for others to use, as its ``__all__`` says or its names.

    ``getattr(module, name)`` and ``module.__dict__[name]`` mostly take one that is the module's own, and not one of
    those before it that it is made of.
    """
    walk.load(module)
    listed = module.cells.get("__all__")
    names = listed[-1][1].items if listed and isinstance(listed[-1][1], Items) else []
    whole = [name for one in names if isinstance(name := known(one), str)]
    found = {name: module_attribute(walk, module, name) for name in whole[:MAX_NAMED]}
    if not found:
        own = {name: cell[-1][1] for name, cell in module.cells.items() if isinstance(name, str) and name[:1] != "_"}
        found = {name: own[name] for name in reversed(own) if getattr(own[name], "module", None) is module}
    return _one_of(walk, {name: value for name, value in found.items() if isinstance(value, (Function, Class))}, key)


def _one_of(walk: Walk, values: dict[str, Abstract], key: Abstract) -> Abstract | None:
    """Return one of some values: which, the key decides. Of many one stands for all, and it may be another.

    What is wrapped and trained is multiplied by the ways to do so, and more than a few values cannot be kept apart.
    """
    first, last = _ends(key)
    fitting = {name: value for name, value in values.items() if name.startswith(first) and name.endswith(last)}
    if not fitting or len(fitting) > MAX_NAMED:
        return None
    told_apart = list(fitting.items())[: MAX_OPTIONS if len(fitting) <= MAX_OPTIONS else 1]
    tests = [(walk.literal(f"{text(key)} == {name!r}", "configuration"), value) for name, value in told_apart]
    rest = Rest(f"one named {text(key)}", key.tags) if len(fitting) > MAX_OPTIONS else None
    found = under_the_first(walk, tests, rest)
    return choice(found) if found else None


def under_the_first(
    walk: Walk, tests: Iterable[tuple[Literal, Abstract]], rest: Abstract | None = None
) -> list[tuple[Condition, Abstract]]:
    """Return values, each under its test and none of those before; the rest is what is left when no test holds."""
    found: list[tuple[Condition, Abstract]] = []
    before = walk.path
    for test, value in tests:
        here = walk.assuming(test)
        if here is not None:
            found.append((since(here, before), value))
            walk.path = walk.assuming(test.opposite()) or walk.path
    if rest is not None:
        found.append((since(walk.path, before), rest))
    walk.path = before
    return found


def _ends(key: Abstract) -> tuple[str, str]:
    """Return how a name that is put together begins and ends, as far as that is known: ``f"build_{name}"``."""
    if isinstance(key, Known) or not isinstance(key, Opaque) or not key.parts:
        return "", ""
    first, last = known(key.parts[0]), known(key.parts[-1])
    return first if isinstance(first, str) else "", last if isinstance(last, str) else ""

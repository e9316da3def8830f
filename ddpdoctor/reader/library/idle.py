"""Parts of a model with parameters that no code of the program ever takes in hand: they cannot be in any loss."""

import ast
from collections.abc import Iterator

from ddpdoctor.events import Part
from ddpdoctor.reader.abstract import Abstract, Choice, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.library.parts import PARAMETER, Parts, has_parameters, held
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Function, Made, Object
from ddpdoctor.reader.walk import Walk

MAX_NAMED = 12
"""How many idle parts of a model are named."""


def idle_parts(walk: Walk, parts: Parts) -> Iterator[Part]:
    """Yield the parts whose attribute nothing reads, in classes of which nothing goes over all parts."""
    candidates = [
        (part, name, value)
        for part in parts
        if isinstance(part, Object) and _runs_its_own_forward(walk, part)
        for name, value in _own_parts(walk, part)
        if name.isidentifier()  # else under a name that is put together
        and not any(name in walk.syntax.names_read(cls.node) for cls in part.cls.resolution())
        and not any(name in walk.syntax.named_twice(cls.node) for cls in part.cls.resolution())
    ]
    if not candidates:
        return
    modules = [module for module in walk.project.modules.values() if module is not None and module.source is not None]
    if any(_goes_over_parts(walk, module) for module in modules):
        return
    read = frozenset().union(*(walk.syntax.names_read(tree) for module in modules if (tree := _tree(module))))
    places = set()
    for holder, name, value in candidates[:MAX_NAMED]:
        if name not in read and value.ref.place not in places and not _has_another_name(parts, holder, name, value):
            places.add(value.ref.place)
            yield Part(name, value.ref.place)


def _has_another_name(parts: Parts, holder: Object, name: str, value: "Made | Object") -> bool:
    """Whether another attribute of the model leads to the same part: a list of layers, a shorter name."""
    for part in parts:
        for other, inner in held(part):
            if inner is value and (part is not holder or other != name):
                return True
    return False


def _tree(module: Module) -> ast.Module | None:
    return module.source.tree if module.source is not None else None


def _runs_its_own_forward(walk: Walk, part: Object) -> bool:
    """Whether all that computes with a module's parts is the project's own code."""
    forward = class_attribute(walk, part.cls, "forward")
    return isinstance(forward, Function) and all(path == "torch.nn.Module" for path in part.cls.external_bases())


def _own_parts(walk: Walk, part: Object) -> Iterator[tuple[str, "Made | Object"]]:
    """Yield the parts with parameters that a module certainly holds, by their names.

    What every part of it is made under, such as an ``assert`` in the constructor, holds wherever there is the module.
    """
    held = [(name, *cell[-1]) for name, cell in part.attributes.items() if isinstance(name, str)]
    made = [when for _, when, value in held if isinstance(value, (Made, Object))]
    certain = walk.path | (frozenset.intersection(*made) if made else walk.path)
    for name, when, value in held:
        single = _one_of_a_kind(value)
        if single is None or not when <= certain:
            continue
        own = single.owner is part or (single.owner is None and single is not value)
        if own and (has_parameters(single) or (isinstance(single, Made) and single.path == PARAMETER)):
            yield name, single


def _one_of_a_kind(value: Abstract) -> "Made | Object | None":
    """Return the part that a value is; of several that it can be the first, where all have parameters."""
    if isinstance(value, (Made, Object)):
        return value
    if not isinstance(value, Choice):
        return None
    parts = [option for _, option in options(value)]
    first = parts[0] if parts else None
    if not isinstance(first, (Made, Object)):
        return None
    return first if all(isinstance(one, (Made, Object)) and has_parameters(one) for one in parts) else None


def _goes_over_parts(walk: Walk, module: Module) -> bool:
    """Whether code of a module looks attributes up by names that are made, or calls all parts of a model in turn."""
    tree = _tree(module)
    return tree is not None and walk.syntax.is_dynamic(tree)

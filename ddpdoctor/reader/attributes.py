"""Reads and writes the attributes of abstract values."""

import ast
from collections.abc import Callable

from ddpdoctor.condition import together
from ddpdoctor.events import StateLoaded
from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Known, Opaque, Rest, Table, Truth
from ddpdoctor.reader.cells import choice, read
from ddpdoctor.reader.imports import module_attribute
from ddpdoctor.reader.names import RANK_NAMES, hinted
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Package, Super
from ddpdoctor.reader.paths import canonical
from ddpdoctor.reader.settings import Setting, Settings
from ddpdoctor.reader.stored import Content, loads_in
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import NONE
from ddpdoctor.world import Expression


def get_attribute(walk: Walk, value: Abstract, name: str, node: ast.AST) -> Abstract:
    """Return an attribute of a value; what is not known of it stays an :class:`Attribute`."""
    reader = _READERS.get(type(value))
    return Attribute(value, name) if reader is None else reader(walk, value, name, node)


OWN_MODE = "mode"
"""The hidden attribute of a module that was put into a mode by itself (library/norms.py)."""


def _of_object(walk: Walk, value: Object, name: str, node: ast.AST) -> Abstract:
    cell = value.attributes.get(name)
    if cell is not None:
        return _counted(walk, value.cls, name, read(cell, walk.path))
    found = class_attribute(walk, value.cls, name)
    if found is not None:
        return _bound(walk, found, value, node)
    if name == "__class__":
        return value.cls
    if name == "training" and walk.in_forward and walk.evaluates and OWN_MODE not in value.attributes:
        return Known(False)  # torch.nn.Module.train: eval() is for all modules inside
    if name == "__dict__":
        return Table(value.attributes)
    if name == "_modules":  # of torch.nn.Module: what it was given that is a module
        held = {key: cell for key, cell in value.attributes.items() if isinstance(cell[-1][1], (Made, Object))}
        return Table(held)
    if value.inner is not None:
        inherited = get_attribute(walk, value.inner, name, node)
        method = isinstance(inherited, Attribute) and inherited.receiver is value.inner
        return Attribute(value, name) if method else inherited
    fallback = class_attribute(walk, value.cls, "__getattr__")
    if isinstance(fallback, Function):
        result = walk.call_with(Bound(fallback, value), Known(name), node=node)
        if not isinstance(result, (Opaque, Attribute)):
            return result
    return unset(value, name)


def unset(value: Abstract, name: str) -> Abstract:
    """Return an attribute that nothing has set: what its name says, or a method of a base outside the project."""
    if name.lower() in RANK_NAMES:
        return hinted(name, value.tags, label=f"{text(value)}.{name}")
    return Attribute(value, name)


def _bound(walk: Walk, found: Abstract, receiver: Object, node: ast.AST) -> Abstract:
    if not isinstance(found, Function):
        return found
    if found.kind == "property":
        return walk.call_with(Bound(found, receiver), node=node)
    if found.kind == "staticmethod":
        return found
    return Bound(found, receiver.cls if found.kind == "classmethod" else receiver)


def _counted(walk: Walk, cls: Class, name: str, value: Abstract) -> Abstract:
    """Return an attribute's value; one that is counted up somewhere has, inside a loop, no one value.

    Nor has one that is ``None`` until the function that asks has given it a value in an earlier round.
    """
    if walk.loops and isinstance(value, Known) and name in cls.module.widened and _is_number(value.value):
        return Opaque(f"{cls.name}.{name}", default=value, expression=Expression("counter", (name, False)))
    function = walk.frames[-1].function if walk.frames else None
    awaited = walk.loops and isinstance(value, Known) and value.value is None
    if awaited and function is not None and name in walk.syntax.attributes_set_in(function.node):
        return Opaque(f"{cls.name}.{name}", default=value)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def class_attribute(walk: Walk, cls: Class, name: str, after: Class | None = None) -> Abstract | None:
    """Return what a class or its bases in the project define under a name, from the class ``after`` on."""
    order = cls.resolution()
    if after is not None and after in order:
        order = order[order.index(after) + 1 :]
    for candidate in order:
        cell = candidate.attributes.get(name)
        if cell is not None:
            return read(cell, walk.path)
    return None


def _of_class(walk: Walk, value: Class, name: str, node: ast.AST) -> Abstract:
    found = class_attribute(walk, value, name)
    if isinstance(found, Function) and found.kind == "classmethod":
        return Bound(found, value)
    if found is not None:
        return found
    return Known(value.name) if name == "__name__" else Attribute(value, name)


def _of_super(walk: Walk, value: Super, name: str, node: ast.AST) -> Abstract:
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Object) else receiver if isinstance(receiver, Class) else None
    found = class_attribute(walk, cls, name, after=value.cls) if cls is not None else None
    if isinstance(found, Function) and found.kind != "staticmethod":
        return Bound(found, receiver)
    return found if found is not None else Attribute(value, name)


def _of_made(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract:
    cell = value.attributes.get(name)
    if cell is not None:
        return read(cell, walk.path)
    if name == "__class__":
        return External(value.path)
    model = walk.tables.attribute_model(value.path)
    found = model(walk, value, name, node) if model is not None else None
    return found if found is not None else unset(value, name)


def _of_opaque(walk: Walk, value: Opaque, name: str, node: ast.AST) -> Abstract:
    cell = value.attributes.get(name)
    return read(cell, walk.path) if cell is not None else unset(value, name)


def _of_attribute(walk: Walk, value: Attribute, name: str, node: ast.AST) -> Abstract:
    """Read an attribute of something that was not known when it was taken, and may have been given some since."""
    cell = getattr(value.receiver, "attributes", {}).get(value.name)
    held = cell[0][1] if cell is not None and len(cell) == 1 else None
    return _of_opaque(walk, held, name, node) if isinstance(held, Opaque) else Attribute(value, name)


def _of_content(walk: Walk, value: Content, name: str, node: ast.AST) -> Abstract:
    """Read an attribute of what a file held; one that only models have says that it was a model."""
    if name in OF_MODELS:
        walk.emit(StateLoaded, node, into=NONE, read=loads_in(value))
    return _of_opaque(walk, value, name, node)


OF_MODELS = frozenset({"eval", "train", "parameters", "named_parameters", "modules", "state_dict", "load_state_dict"})


def _of_settings(walk: Walk, value: Settings, name: str, node: ast.AST) -> Abstract:
    cell = value.attributes.get(name) or value.attributes.get(("item", repr(name)))
    if cell is not None:
        return read(cell, walk.path)
    found = value.item(name, f"{value.name}.{name}")
    return found if found is not None else unset(value, name)


def _of_choice(walk: Walk, value: Choice, name: str, node: ast.AST) -> Abstract:
    """Read the attribute of every option that can have it: ``None`` and other constants cannot, nor any module."""
    found = []
    before = walk.path
    if name == "__getattribute__":
        return Attribute(value, name)
    for condition, option in value.options:
        both = together(before, condition)
        if both is None or (isinstance(option, Known) and not isinstance(option.value, str)):
            continue
        walk.path = both
        attribute = get_attribute(walk, option, name, node)
        if isinstance(option, Package) and isinstance(attribute, External) and not option.module.stars:
            continue
        found.append((condition, attribute))
    walk.path = before
    return choice(found) if found else Attribute(value, name)


def _of_external(walk: Walk, value: External, name: str, node: ast.AST) -> Abstract:
    if name == "__name__":
        return Known(value.path.rpartition(".")[2])
    if name == "__getattribute__":
        return Attribute(value, name)
    path = canonical(f"{value.path}.{name}")
    patched = walk.patched.get(path)
    if patched is not None:
        return read(patched, walk.path)
    given = walk.tables.given_value(path)
    return External(path) if given is None else given


def _of_table(walk: Walk, value: Table, name: str, node: ast.AST) -> Abstract:
    """A dictionary has no such attributes itself: a configuration that it was put into gives its items as some."""
    cell = None if hasattr(dict, name) else value.cells.get(name)
    return Attribute(value, name) if cell is None else read(cell, walk.path)


def _of_package(walk: Walk, value: Package, name: str, node: ast.AST) -> Abstract:
    if name == "__dict__":
        walk.load(value.module)
        return Table(value.module.cells, more=True, module=value.module)
    if name == "__getattribute__":
        return Attribute(value, name)
    return module_attribute(walk, value.module, name)


def _of_function(walk: Walk, value: Abstract, name: str, node: ast.AST) -> Abstract:
    function = value.function if isinstance(value, Bound) else value
    assert isinstance(function, Function)
    cell = function.attributes.get(name)
    if cell is not None:
        return read(cell, walk.path)
    if name == "__name__":
        return Known(function.name)
    if name == "__self__" and isinstance(value, Bound):
        return value.receiver
    return unset(value, name)


_READERS: dict[type[Abstract], Callable[[Walk, "Abstract", str, ast.AST], Abstract]] = {
    Object: _of_object,  # type: ignore[dict-item]
    Class: _of_class,  # type: ignore[dict-item]
    Super: _of_super,  # type: ignore[dict-item]
    Made: _of_made,  # type: ignore[dict-item]
    Opaque: _of_opaque,  # type: ignore[dict-item]
    Setting: _of_opaque,  # type: ignore[dict-item]
    Rest: _of_opaque,  # type: ignore[dict-item]
    Settings: _of_settings,  # type: ignore[dict-item]
    Table: _of_table,  # type: ignore[dict-item]
    Attribute: _of_attribute,  # type: ignore[dict-item]
    Content: _of_content,  # type: ignore[dict-item]
    Choice: _of_choice,  # type: ignore[dict-item]
    External: _of_external,  # type: ignore[dict-item]
    Package: _of_package,  # type: ignore[dict-item]
    Function: _of_function,
    Bound: _of_function,
}


def origin_of(value: Abstract) -> str:
    """Return where a value that is not known comes from."""
    while isinstance(value, Attribute):
        value = value.receiver
    if isinstance(value, Opaque):
        return value.origin
    if isinstance(value, Truth):
        return "other"
    return "configuration" if "configuration" in value.tags else "other"

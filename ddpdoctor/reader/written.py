"""What a program writes into objects: attributes and items."""

import ast

from ddpdoctor.condition import together
from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Items, Known, Opaque, Table, known
from ddpdoctor.reader.attributes import class_attribute, get_attribute, origin_of, unset
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.environment import write_variable
from ddpdoctor.reader.items import unknown_item
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Package
from ddpdoctor.reader.paths import canonical
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.stored import may_be_changed
from ddpdoctor.reader.tags import cut, measures, placed
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def set_attribute(walk: Walk, value: Abstract, name: str, new: Abstract, node: ast.AST) -> None:
    """Write an attribute of a value."""
    if isinstance(value, Choice):
        before = walk.path
        for condition, option in value.options:
            both = together(before, condition)
            if both is not None and not isinstance(option, Known):
                walk.path = both
                set_attribute(walk, option, name, new, node)
        walk.path = before
        return
    walk.tables.attribute_written(walk, value, name, new, node)
    if walk.heard and not isinstance(new, (Known, Opaque)):
        walk.heard.clear()  # what it may be called by now
    if isinstance(value, Package):
        walk.load(value.module)
        write(value.module.cells, name, walk.path, new)
    elif isinstance(value, External):
        _patch(walk, canonical(f"{value.path}.{name}"), new)
    elif isinstance(value, Bound):
        write(value.function.attributes, name, walk.path, new)
    elif isinstance(value, Table) and not hasattr(dict, name):  # as an item of a configuration that it was put into
        write(value.cells, name, walk.path, new)
    elif isinstance(value, Attribute):
        held = _held(value)
        if held is not None:
            set_attribute(walk, held, name, new, node)
    elif isinstance(value, (Object, Made, Opaque, Class, Function)):
        _keep_prior(walk, value, name, node)
        setter = class_attribute(walk, value.cls, f"{name}.setter") if isinstance(value, Object) else None
        if isinstance(setter, Function):
            walk.call_with(Bound(setter, value), new, node=node)
        else:
            write(value.attributes, name, walk.path, new)
        if (
            isinstance(new, (Made, Object))
            and new.owner is None
            and new is not value
            and isinstance(value, (Made, Object))
        ):
            new.owner = value


def _held(value: Attribute) -> Opaque | None:
    """Return what an attribute that is not known is from now on: an object that can be given attributes of its own."""
    receiver = _held(value.receiver) if isinstance(value.receiver, Attribute) else value.receiver
    if not isinstance(receiver, (Object, Made, Opaque)):
        return None
    if value.name not in receiver.attributes:
        made = Opaque(text(value), value.tags, origin=origin_of(value))
        write(receiver.attributes, value.name, frozenset(), made)
    found = receiver.attributes[value.name][0][1]
    return found if isinstance(found, Opaque) else None


def _patch(walk: Walk, path: str, new: Abstract) -> None:
    """Put something of the script's own in the place of what is outside: ``torch.load = partial(torch.load, …)``."""
    if walk.path and path not in walk.patched:
        write(walk.patched, path, frozenset(), External(path))
    write(walk.patched, path, walk.path, new)


def _keep_prior(walk: Walk, value: "Object | Made | Opaque | Class | Function", name: str, node: ast.AST) -> None:
    """Before the first write under a condition, record what an option or unknown attribute was without it."""
    if not walk.path or name in value.attributes or isinstance(value, (Class, Function)):
        return
    if isinstance(value, Object):
        has_fallback = (
            class_attribute(walk, value.cls, "__getattr__") is not None or "dict" in value.cls.external_bases()
        )
        if not has_fallback:
            return
        prior: Abstract = unset(value, name)
    else:
        prior = get_attribute(walk, value, name, node)
    write(value.attributes, name, frozenset(), prior)


def set_item(walk: Walk, holder: Abstract, key: Abstract, value: Abstract, node: ast.AST) -> None:
    """Execute ``holder[key] = value``."""
    if isinstance(holder, Choice):
        before = walk.path
        for condition, option in holder.options:
            both = together(before, condition)
            if both is not None:
                walk.path = both
                set_item(walk, option, key, value, node)
        walk.path = before
    elif isinstance(holder, External):
        if holder.path == "os.environ":
            write_variable(walk, key, value, node)
    elif isinstance(holder, Table):
        _set_in_table(walk, holder, key, value)
    elif isinstance(holder, Items):
        _set_listed(walk, holder, key, value)
    elif isinstance(holder, Object) and isinstance(
        method := class_attribute(walk, holder.cls, "__setitem__"), Function
    ):
        walk.call_with(Bound(method, holder), key, value, node=node)
    elif isinstance(holder, (Object, Made, Opaque)) and isinstance(key, Known):
        _set_held(walk, holder, key, value, node)
    else:
        may_be_changed(holder)
        if isinstance(holder, (Made, Opaque)):
            holder.tags |= placed(holder.tags, key.tags) | measures(value.tags)


def _set_in_table(walk: Walk, holder: Table, key: Abstract, value: Abstract) -> None:
    if isinstance(key, Known) and isinstance(key.value, (str, int)):
        write(holder.cells, key.value, walk.path, value)
    elif holder.cells and text(key) == f"key of {text(holder)}":  # a loop over the keys gives each a new value
        for name in holder.cells:
            write(holder.cells, name, walk.path, value)
    else:
        holder.open = True
        kept = cut(value.tags)  # what comes under a sample's name twice is kept once
        once = value if kept == value.tags else Opaque(text(value), kept)
        write(holder.cells, ("key", text(key)), walk.path, once)


def _set_held(walk: Walk, holder: "Object | Made | Opaque", key: Known, value: Abstract, node: ast.AST) -> None:
    may_be_changed(holder)
    by_name = isinstance(holder, (Object, Settings)) and isinstance(key.value, str)
    name = key.value if by_name else ("item", text(key))
    if walk.path and name not in holder.attributes and not isinstance(holder, Object):
        said = holder.item(key.value, f"{holder.name}[{key.value!r}]") if isinstance(holder, Settings) else None
        write(holder.attributes, name, frozenset(), said or unknown_item(holder, key))
    if isinstance(holder, Made):
        walk.tables.attribute_written(walk, holder, text(key), value, node)
    write(holder.attributes, name, walk.path, value)
    holder.tags |= measures(value.tags)


def _set_listed(walk: Walk, holder: Items, key: Abstract, value: Abstract) -> None:
    index = known(key)
    fits = isinstance(index, int) and -len(holder.items) <= index < len(holder.items)
    if fits and not walk.path and not walk.loops and isinstance(index, int):
        holder.items[index] = value
    else:
        holder.items.append(value)
        holder.open = True

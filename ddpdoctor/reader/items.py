"""Reads and writes items: subscripts of lists, dictionaries, environment and configurations."""

import ast
from collections.abc import Callable

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import together
from ddpdoctor.events import ItemTaken
from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Items, Known, Opaque, Table, is_none, known
from ddpdoctor.reader.attributes import class_attribute, origin_of
from ddpdoctor.reader.cells import choice, read, write
from ddpdoctor.reader.chosen import one_of_module, one_registered
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.cuts import marks_of_item, marks_of_place
from ddpdoctor.reader.environment import read_variable
from ddpdoctor.reader.formulas import by_default, is_rank
from ddpdoctor.reader.imports import resolved
from ddpdoctor.reader.lengths import part_of
from ddpdoctor.reader.library.import_path import cut_folder
from ddpdoctor.reader.library.kinds import LAYER_LISTS, NAMESPACE, children_of, layers_of
from ddpdoctor.reader.names import hinted
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.paths import canonical
from ddpdoctor.reader.registries import fill
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.stored import Content
from ddpdoctor.reader.tags import Tags, cut, in_turn_of
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def get_item(walk: Walk, holder: Abstract, key: Abstract, node: ast.AST) -> Abstract:
    """Return ``holder[key]``."""
    if isinstance(holder, Content) and holder.whole is None and isinstance(known(key), str):
        walk.emit(ItemTaken, node, read=holder.loads, key=str(known(key)))
    item = _item(walk, holder, key, node)
    if isinstance(item, Opaque) and (not isinstance(key, (Known, Items)) or isinstance(known(key), slice)):
        item.tags = cut(item.tags)  # a part of a tensor: what of it two ranks brought may not be in it
    if isinstance(item, (Opaque, Items)):
        marks = marks_of_item(holder, key, walk.place(node))
        if marks and isinstance(item, Opaque):
            item.tags |= marks
        elif marks and item is not holder and isinstance(item, Items):
            item.extra |= marks
        if isinstance(item, Opaque) and key.tags:
            item.tags |= marks_of_place(key)
        part_of(walk, holder, key, item)
    return item


def _item(walk: Walk, holder: Abstract, key: Abstract, node: ast.AST) -> Abstract:
    if isinstance(holder, Choice):
        by_name = isinstance(known(key), str)
        return _over(walk, holder, lambda one: get_item(walk, one, key, node), lambda one: _has_items(one, by_name))
    if isinstance(key, Choice):
        return _over(walk, key, lambda option: get_item(walk, holder, option, node), lambda one: not is_none(one))
    if isinstance(holder, External) and holder.path == "os.environ":
        return read_variable(walk, key, None, node)
    if isinstance(holder, External) and holder.path.endswith(".__dict__"):
        return _of_module_dict(holder, key)
    if isinstance(holder, Items):
        return _of_items(holder, key)
    if isinstance(holder, Table):
        return _of_table(walk, holder, key, node)
    if isinstance(holder, Object):
        method = class_attribute(walk, holder.cls, "__getitem__")
        if isinstance(method, Function):
            return walk.call_with(Bound(method, holder), key, node=node)
    held = _held_by_name(holder, key)
    if held is not None:
        return read(held, walk.path)
    configured = _of_configuration(walk, holder, key, node)
    if configured is not None:
        return configured
    if isinstance(holder, (Made, Opaque, Object)):
        cell = holder.attributes.get(("item", text(key))) if isinstance(key, Known) else None
        if cell is not None:
            return read(cell, walk.path)
    if isinstance(holder, Made) and holder.path == "torch.nn.ModuleDict" and holder.args:
        return _any_layer(holder.args[0], key) or get_item(walk, holder.args[0], key, node)
    if isinstance(holder, Made) and holder.path in LAYER_LISTS:
        return _of_items(layers_of(holder), key)
    special = _special(holder, key)
    return unknown_item(holder, key) if special is None else special


def _special(holder: Abstract, key: Abstract) -> Abstract | None:
    """Return an item of something that has its items in a way of its own."""
    for way in (_of_known, _of_children, _of_parents, cut_folder):
        found = way(holder, key)
        if found is not None:
            return found
    return None


def _of_children(holder: Abstract, key: Abstract) -> Abstract | None:
    """Return ``list(model.children())[:-1]``: they are not told apart."""
    return holder if isinstance(known(key), slice) and children_of(holder) is not None else None


def _of_parents(holder: Abstract, key: Abstract) -> Abstract | None:
    """Return ``path.parents[i]``: the parent of the parent, as often as the index says."""
    index = known(key)
    if not isinstance(holder, Attribute) or holder.name != "parents" or not isinstance(index, int):
        return None
    found: Abstract = holder.receiver
    for _ in range(index + 1 if 0 <= index < MAX_PARENTS else 0):
        found = Attribute(found, "parent")
    return found


MAX_PARENTS = 8


def _held_by_name(holder: Abstract, key: Abstract) -> list[tuple[Condition, Abstract]] | None:
    """Return what was written under a name to an object that is a dictionary, or to a configuration."""
    name = known(key)
    return holder.attributes.get(name) if isinstance(holder, (Object, Settings)) and isinstance(name, str) else None


def _of_configuration(walk: Walk, holder: Abstract, key: Abstract, node: ast.AST) -> Abstract | None:
    """Return an item of an object that has its items as attributes, or of a dictionary around a configuration."""
    if isinstance(holder, Made) and holder.path == NAMESPACE and isinstance(known(key), str):
        return walk.get(holder, str(known(key)), node)
    inner = holder.inner if isinstance(holder, Object) else None
    return get_item(walk, inner, key, node) if isinstance(inner, Settings) else None


def _of_module_dict(holder: External, key: Abstract) -> Abstract:
    """Return ``module.__dict__[name]``: an option counts as its default."""
    name = known(by_default(key))
    if isinstance(name, str):
        return External(canonical(f"{holder.path.removesuffix('.__dict__')}.{name}"))
    return Opaque(f"{holder.path}[{text(key)}]", key.tags)


def unknown_item(holder: Abstract, key: Abstract) -> Abstract:
    """Return an item of something of which nothing more is known."""
    tags: Tags = holder.tags | frozenset(tag for tag in key.tags if tag in ("rank", "shard"))
    if _is_own_part(key):
        tags |= {"shard"}
    name = known(key)
    label = f"{text(holder)}[{text(key)}]"
    if isinstance(holder, Content) and isinstance(name, str):
        return holder.item(name, label, tags)
    if isinstance(holder, Settings):
        found = holder.item(known(by_default(key)), label)
        if found is not None:
            return found
    item = hinted(name if isinstance(name, str) else "", tags, origin=origin_of(holder), label=label)
    usual, at = holder.default if isinstance(holder, Opaque) else None, known(by_default(key))
    if (
        isinstance(usual, Items)
        and isinstance(at, int)
        and not usual.open
        and -len(usual.items) <= at < len(usual.items)
    ):
        item.default = usual.items[at]
    return item


def _is_own_part(key: Abstract) -> bool:
    """Whether an index gives each rank an item of its own."""
    return is_rank(key) or "shard" in key.tags


def _of_items(holder: Items, key: Abstract) -> Abstract:
    index = known(key)
    if _is_own_part(key) and holder.items and all(isinstance(item, Made) for item in holder.items):
        for item in holder.items:
            assert isinstance(item, Made)
            item.tags |= {"shard"}
    if isinstance(index, int) and not holder.open and -len(holder.items) <= index < len(holder.items):
        return holder.items[index]
    if isinstance(index, slice):
        part = holder.items if holder.open else computed(holder.items.__getitem__, index)
        return unknown_item(holder, key) if part is NO_RESULT else Items(part, holder.kind, more=holder.open)
    if _is_own_part(key) and holder.items and all(isinstance(item, (Opaque, Attribute)) for item in holder.items):
        return unknown_item(holder, key)
    if len(holder.items) == 1 and holder.open:
        return holder.items[0]
    if holder.items and _alike(holder.items):
        return holder.items[0]
    return unknown_item(holder, key)


def _any_layer(held: Abstract, key: Abstract) -> Abstract | None:
    """Return a layer of a dictionary of layers for a name that is not known: what is done to one is done to all."""
    if isinstance(by_default(key), Known) or not isinstance(held, Table):
        return None
    layers = [cell[-1][1] for cell in held.cells.values()]
    return layers[0] if layers and all(isinstance(layer, (Made, Object)) for layer in layers) else None


def _alike(items: list[Abstract]) -> bool:
    """Whether a few items are all objects of one kind: what is done to one of them is done to all."""
    kinds = {type(item) for item in items}
    return len(kinds) == 1 and len(items) < MAX_ALIKE and Known not in kinds


MAX_ALIKE = 5


def _made_for(walk: Walk, holder: Table, key: Abstract, node: ast.AST) -> Abstract:
    """Return what a ``defaultdict`` makes for a key that it has not met, and has from then on."""
    name = key.value if isinstance(key, Known) and isinstance(key.value, (str, int)) else ("key", text(key))
    if name not in holder.cells and holder.factory is not None:
        write(holder.cells, name, ALWAYS, walk.call_with(holder.factory, node=node))
    return read(holder.cells[name], walk.path)


def _of_table(walk: Walk, holder: Table, key: Abstract, node: ast.AST) -> Abstract:
    usual = by_default(key)
    fill(walk, holder, known(usual))
    if isinstance(usual, Known) and isinstance(usual.value, (str, int)):
        cell = holder.cells.get(usual.value)
        if cell is not None:
            return resolved(walk, read(cell, walk.path))
    in_turn = text(key) == f"key of {text(holder)}"  # a loop over the keys: each is there
    if holder.factory is not None and not is_none(holder.factory) and not in_turn:
        return _made_for(walk, holder, key, node)
    if isinstance(key, Known):
        under_any = [cell[-1][1] for name, cell in holder.cells.items() if isinstance(name, tuple)]
        if len(under_any) == 1 and isinstance(under_any[0], Object):
            return under_any[0]  # made in a loop over names, a meter for each: what is done to one is done to all
        flow = holder.extra.union(*(value.tags for value in under_any))
        return hinted(str(key.value), flow, label=f"{text(holder)}[{key.value!r}]")
    values = [read(cell, walk.path) for cell in holder.cells.values()]
    if len(values) == 1:
        return values[0]
    if _is_own_part(key) and any(isinstance(value, Made) for value in values):
        return unknown_item(holder, key)
    chosen = one_of_module(walk, holder.module, key) if holder.module else one_registered(walk, holder, key)
    if chosen is not None:
        return chosen
    if _is_own_part(key):
        return unknown_item(holder, key)
    return Opaque(f"{text(holder)}[{text(key)}]", in_turn_of(values) if in_turn else holder.tags)


def _of_known(holder: Abstract, key: Abstract) -> Abstract | None:
    fields = holder.fields_in_order() if isinstance(holder, Object) else None
    if fields is not None:
        return _of_items(fields, key)
    if not isinstance(holder, Known) or not isinstance(key, Known):
        return None
    item = computed(lambda: holder.value[key.value])  # type: ignore[index]
    return Opaque(f"{holder.value!r}[{key.value!r}]") if item is NO_RESULT else Known(item)


def _has_items(value: Abstract, by_name: bool) -> bool:
    """Whether a value can be asked for an item: ``None`` cannot, nor a list by name."""
    return not is_none(value) and not (by_name and isinstance(value, Items))


def _over(
    walk: Walk, value: Choice, function: Callable[[Abstract], Abstract], applies: Callable[[Abstract], bool]
) -> Abstract:
    found = []
    before = walk.path
    for condition, option in value.options:
        both = together(before, condition)
        if both is not None and applies(option):
            walk.path = both
            found.append((condition, function(option)))
    walk.path = before
    return choice(found) if found else Opaque(f"item of {text(value)}", value.tags)

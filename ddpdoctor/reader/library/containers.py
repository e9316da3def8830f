"""Methods of lists, dictionaries and text, and the context managers of contextlib."""

import ast

from ddpdoctor.atom import ALWAYS
from ddpdoctor.events import Within
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, External, Items, Known, Opaque, Table, known, options
from ddpdoctor.reader.arguments import update_table
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read, write
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.layer_lists import as_put
from ddpdoctor.reader.library.changes import put_layer
from ddpdoctor.reader.library.kinds import LAYER_LISTS, is_module
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.operators import formatted
from ddpdoctor.reader.registries import fill
from ddpdoctor.reader.settings import UNREAD, Settings
from ddpdoctor.reader.stored import is_state, may_be_changed
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def _append(walk: Walk, call: Call) -> Abstract | None:
    if isinstance(call.receiver, Items) and call.args:
        call.receiver.items.append(as_put(walk, call.args[0]))
        call.receiver.open = call.receiver.open or bool(walk.loops) or bool(walk.path)
        return NONE
    if isinstance(call.receiver, Made) and call.receiver.path in LAYER_LISTS and call.args:
        put_layer(walk, call.receiver, call.args[0], call.node)
        return call.receiver
    return None


def _add_module(walk: Walk, call: Call) -> Abstract | None:
    """``model.add_module(name, layer)``; under a name that is not known it is a part all the same."""
    holder = call.receiver
    if len(call.args) != 2:
        return NONE
    if isinstance(holder, Made) and holder.path in LAYER_LISTS:
        put_layer(walk, holder, call.args[1], call.node)
    elif isinstance(holder, Object):
        name = known(call.args[0])
        unnamed = f"part made in {walk.line(call.node)}"
        walk.set(holder, name if isinstance(name, str) else unnamed, call.args[1], call.node)
    return NONE


def _insert(walk: Walk, call: Call) -> Abstract | None:
    """``layers.insert(1, nn.ReLU())``; where the place is not known, the last one is as good."""
    if len(call.args) != 2 or not any(is_module(option) for _, option in options(call.args[1])):
        return None
    place, items = known(call.args[0]), getattr(call.receiver, "items", None)
    if isinstance(call.receiver, Items) and isinstance(place, int) and isinstance(items, list):
        items.insert(place, as_put(walk, call.args[1]))
        call.receiver.open = call.receiver.open or bool(walk.loops) or bool(walk.path)
        return NONE
    return _append(walk, call._replace(args=call.args[1:]))


def _extend(walk: Walk, call: Call) -> Abstract | None:
    if isinstance(call.receiver, Made) and call.receiver.path in LAYER_LISTS and call.args:
        for layer in call.args[0].items if isinstance(call.args[0], Items) else ():
            put_layer(walk, call.receiver, layer, call.node)
        return call.receiver
    if isinstance(call.receiver, Items) and call.args:
        given = call.args[0]
        further = (
            [as_put(walk, item) for item in given.items]
            if isinstance(given, Items)
            else [Opaque(f"items of {text(given)}", given.tags)]
        )
        whole = Items([*call.receiver.items, *further], more=not isinstance(given, Items) or given.open)
        call.receiver.items[:] = whole.items
        call.receiver.open = call.receiver.open or whole.open or bool(walk.loops)
        return NONE
    return None


def _get(walk: Walk, call: Call) -> Abstract | None:
    """``dict.get``: the item where the key is certainly there, else it or the default."""
    table, key = call.receiver, call.argument("key", 0)
    if key is None or isinstance(table, (Function, Class)):
        return None
    default = call.argument("default", 1) or NONE
    if not isinstance(table, Table):
        if not isinstance(table, (Made, Opaque, Object, Attribute)):
            return None
        found = walk.tables.get_item(walk, table, key, call.node)
        if isinstance(found, Opaque) and found.default is None and _can_be_default(found, table, key):
            found.default = default
        return found
    name = known(by_default(key))
    fill(walk, table, name)
    cell = table.cells.get(name) if isinstance(name, (str, int)) else None
    if name is None and table.cells:
        return walk.tables.get_item(walk, table, key, call.node)
    if cell is None:
        return default if not table.open else walk.tables.get_item(walk, table, key, call.node)
    if any(not when for when, _ in cell):
        return read(cell, walk.path)
    return read([(ALWAYS, default), *cell], walk.path)


def _can_be_default(found: Opaque, table: Abstract, key: Abstract) -> bool:
    """Whether an item of a configuration can be lacking, as far as its files are known."""
    if found.origin != "configuration" or UNREAD in found.tags:
        return False
    inner = table.inner if isinstance(table, Object) else table
    return not isinstance(inner, Settings) or inner.may_lack(known(by_default(key)))


def _update(walk: Walk, call: Call) -> Abstract | None:
    if isinstance(call.receiver, Made) and call.receiver.path == "torch.nn.ModuleDict":
        for key, cell in call.args[0].cells.items() if call.args and isinstance(call.args[0], Table) else ():
            walk.tables.set_item(walk, call.receiver, Known(key), read(cell, walk.path), call.node)
        return NONE
    if isinstance(call.receiver, Settings):
        given = dict(call.kwargs)
        for value in call.args:
            table = value.table() if isinstance(value, Settings) else value
            cells = table.cells if isinstance(table, Table) else {}
            given.update((key, read(cell, walk.path)) for key, cell in cells.items() if isinstance(key, str))
        for key, one in given.items():
            walk.tables.set_item(walk, call.receiver, Known(key), one, call.node)
        return NONE
    if not isinstance(call.receiver, Table):
        may_be_changed(call.receiver or NONE)
        if isinstance(call.receiver, Made) and is_state(call.receiver):
            call.receiver.tags |= call.flow()
        return None
    for value in call.args:
        update_table(walk, call.receiver, value)
    for key, value in call.kwargs.items():
        write(call.receiver.cells, key, walk.path, value)
    return NONE


def _setdefault(walk: Walk, call: Call) -> Abstract | None:
    table = call.receiver
    if isinstance(table, Table) and len(call.args) == 2 and isinstance(known(call.args[0]), str):
        key = known(call.args[0])
        if key not in table.cells:
            write(table.cells, key, walk.path, call.args[1])
        return read(table.cells[key], walk.path)
    return None


def _pop(walk: Walk, call: Call) -> Abstract | None:
    table = call.receiver
    if isinstance(table, Table) and call.args and isinstance(known(call.args[0]), str):
        cell = table.cells.pop(known(call.args[0]), None)
        if cell is not None:
            return read(cell, walk.path)
        return call.args[1] if len(call.args) > 1 else Opaque(f"{text(table)}.pop()")
    may_be_changed(table or NONE)
    return None


def _view(walk: Walk, call: Call) -> Abstract | None:
    if not isinstance(call.receiver, (Table, Made, Object, Opaque, Attribute)):
        return None
    if isinstance(call.receiver, Settings):
        call = call._replace(receiver=call.receiver.table())
    if isinstance(call.receiver, Table):
        return walk.make(call._replace(args=(call.receiver,)), call.receiver.tags)
    if isinstance(call.receiver, Made) and call.receiver.path.endswith(".state_dict"):
        view = walk.make(call._replace(args=()), NO_TAGS)
        view.inner = call.receiver.inner
        return view
    return None


def _format(walk: Walk, call: Call) -> Abstract | None:
    template = call.receiver
    if isinstance(template, Known) and isinstance(template.value, str):
        return formatted(template.value, Items(_fields(walk, template.value, call)))
    return None


def _fields(walk: Walk, template: str, call: Call) -> list[Abstract]:
    """Return the values that a template names, in order: ``{top1.avg}`` is an attribute of one of them."""
    from string import Formatter  # only here: few scripts need it

    try:
        fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError:
        return list(call.given())
    found = []
    for i, field in enumerate(fields):
        root, *attributes = field.split("[")[0].split(".")
        value = call.argument(root, int(root or i) if not root or root.isdecimal() else None)
        named = Opaque(field) if value is None else value
        for attribute in attributes:
            named = walk.get(named, attribute, call.node)
        found.append(named)
    return found


def _stack(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


def _enter_context(walk: Walk, call: Call) -> Abstract | None:
    """``ExitStack.enter_context``: what the manager gives on entering; its block lasts until the stack's end."""
    if not call.args:
        return None
    entered: list[Abstract] = []
    if isinstance(call.node, ast.Call):
        walk.tables.enter_manager(walk, call.args[0], call.node, call.frame, entered.append)
    return entered[0] if entered else call.args[0]


def _callback(walk: Walk, call: Call) -> Abstract | None:
    if not call.args or not isinstance(call.args[0], (Function, Bound, External, Partial)):
        return None
    if call.path.endswith("callback") and not isinstance(call.receiver, Made):
        return None
    with walk.inside(Within("finally", walk.place(call.node))):
        walk.call(call.args[0], call._replace(args=call.args[1:]))
    walk.dead = False
    return call.args[0]


def _default_table(walk: Walk, call: Call) -> Abstract:
    table = Table(more=True)
    table.factory = call.args[0] if call.args else None
    return table


FUNCTIONS = {
    "collections.defaultdict": _default_table,
    "contextlib.ExitStack": _stack,
}
METHODS = {
    "append": _append,
    "extend": _extend,
    "insert": _insert,
    "add_module": _add_module,
    "register_module": _add_module,
    "get": _get,
    "update": _update,
    "setdefault": _setdefault,
    "pop": _pop,
    "items": _view,
    "values": _view,
    "keys": _view,
    "format": _format,
    "enter_context": _enter_context,
    "callback": _callback,
}

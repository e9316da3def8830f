"""Registries of libraries: what a decorator stores under a name, and what is asked for by it."""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import NONE, Abstract, External, Known, Table, is_none, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read, write
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.objects import Class, Function, Made, Partial
from ddpdoctor.reader.registries import fill_by_imports
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

REGISTRIES = (
    "fvcore.common.registry.Registry",
    "detectron2.utils.registry.Registry",
    "mmcv.Registry",
    "mmcv.utils.Registry",
    "mmengine.Registry",
    "mmengine.registry.Registry",
    "catalyst.registry.Registry",
    "catalyst.tools.registry.Registry",
)
HELD = "registered"
"""The hidden attribute that holds what is registered."""


def _new(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call)
    made.attributes[HELD] = [(ALWAYS, Table())]
    return made


def _table(value: Abstract | None) -> Table | None:
    held = value.attributes.get(HELD) if isinstance(value, Made) else None
    return held[0][1] if held and isinstance(held[0][1], Table) else None


def _register(walk: Walk, call: Call) -> Abstract | None:
    """``@REGISTRY.register()``, ``@register("name")``, ``register(Net)`` and ``register_module(module=Net)``."""
    if _table(call.receiver) is None or call.receiver is None:
        return None
    given = [value for value in call.given() if isinstance(value, (Function, Class))]
    names = [value for value in call.given() if isinstance(known(value), str)]
    name: Abstract = names[0] if names else NONE
    if given:
        return _store(walk, call._replace(args=(call.receiver, name, given[0]), kwargs={}))
    return Partial(External(STORE), (call.receiver, name), {})


STORE = "ddpdoctor.register"


def _store(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) != 3:
        return None
    registry, given, value = call.args
    table, name = _table(registry), known(given)
    if name is None and isinstance(value, (Function, Class)):
        name = value.name
    if table is not None and isinstance(name, str):
        write(table.cells, name, walk.path, value)
    return value


def _get(walk: Walk, call: Call) -> Abstract | None:
    """``REGISTRY.get(name)``: of a name that is not known one of those that are registered."""
    table, key = _table(call.receiver), call.argument("name", 0) or call.argument("key")
    if table is None or key is None:
        return None
    fill_by_imports(walk, table, key)
    return walk.tables.get_item(walk, table, key, call.node)


def _build(walk: Walk, call: Call) -> Abstract | None:
    """``REGISTRY.build(cfg)``: calls what ``cfg["type"]`` names with the rest of it."""
    table, settings = _table(call.receiver), call.argument("cfg", 0)
    if table is None or settings is None:
        return None
    key = walk.tables.get_item(walk, settings, Known("type"), call.node)
    fill_by_imports(walk, table, key)
    kwargs: dict[str, Abstract] = {}
    if isinstance(settings, Table):
        kwargs = {name: read(cell, walk.path) for name, cell in settings.cells.items() if isinstance(name, str)}
        kwargs.pop("type", None)
    chosen = walk.tables.get_item(walk, table, key, call.node)
    inner = call._replace(args=(), kwargs=kwargs, receiver=None, open=not isinstance(settings, Table))
    return None if is_none(chosen) else walk.call(chosen, inner)


def _register_model(walk: Walk, call: Call) -> Abstract | None:
    """``@register_model`` of timm: the function makes the model of its own name."""
    made = call.args[0] if call.args else None
    if isinstance(made, Function):
        write(walk.patched, f"{OF_PROJECT}{made.name}", walk.path, made)
    return made


def _create_model(walk: Walk, call: Call) -> Abstract:
    """``timm.create_model(name)`` of a model that the project has registered: an option counts as its default."""
    given = call.argument("model_name", 0)
    name = known(by_default(given)) if given is not None else None
    for module in walk.project.imported():
        if module.state == "new" and module.parse() is None and module.source is not None:
            text = module.source.text
            if name is not None and "register_model" in text and f"def {name}(" in text:
                walk.load(module)
    cell = walk.patched.get(f"{OF_PROJECT}{name}")
    if cell is None:
        return walk.make(call, NO_TAGS)
    kwargs = {key: value for key, value in call.kwargs.items() if key not in OF_TIMM}
    return walk.call(read(cell, walk.path), call._replace(args=(), kwargs=kwargs))


OF_PROJECT = "timm.models.registered."
"""What stands before the name of a model that the project has put among timm's."""
OF_TIMM = frozenset({"model_name", "checkpoint_path", "scriptable", "exportable", "no_jit", "cache_dir"})
"""What ``create_model`` takes for itself; the rest goes to the function."""
FUNCTIONS = {
    **dict.fromkeys(REGISTRIES, _new),
    STORE: _store,
    **{f"timm.models.{module}register_model": _register_model for module in ("", "registry.", "_registry.")},
    **{
        f"timm.{module}create_model": _create_model for module in ("", "models.", "models.factory.", "models._factory.")
    },
}
METHODS = {
    f"{path}.{name}": model
    for path in REGISTRIES
    for name, model in (("register", _register), ("register_module", _register), ("get", _get), ("build", _build))
}

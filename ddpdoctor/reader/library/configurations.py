"""Configuration files and the libraries that hold what is in them: json, yaml, OmegaConf, hydra, EasyDict."""

import ast
import os
from typing import TypeGuard

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import Abstract, External, Known, Opaque, Table, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.iteration import LINES
from ddpdoctor.reader.library.files import use_file
from ddpdoctor.reader.library.kinds import NAMESPACE
from ddpdoctor.reader.objects import Function, Made, Object, Package, Partial
from ddpdoctor.reader.paths import canonical
from ddpdoctor.reader.settings import Settings, composed, settings_of
from ddpdoctor.reader.walk import Walk

OPEN = "builtins.open"
FILE = "file"
"""The hidden attribute of a text that was read from a file."""


def _loaded(walk: Walk, call: Call) -> Abstract:
    """Return the content of a configuration file: the user's to give, and by default what the project's own says."""
    label = call.path.rpartition(".")[0] or "configuration"
    kind = "json" if call.path.startswith("json") else "yaml"
    source = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
    return settings_of(walk.project, known(by_default(_path_of(source))), kind, label)


def _path_of(source: Abstract | None) -> Abstract:
    """Return the path of a file that is read: of an open one, of a text from one, or the value itself."""
    cell = source.attributes.get(FILE) if isinstance(source, Opaque) else None
    if cell:
        source = cell[-1][1]
    lines = (
        next((tag[1] for tag in source.tags if isinstance(tag, tuple) and tag[0] == LINES), None) if source else None
    )
    if isinstance(lines, Made):
        source = lines
    if isinstance(source, Made) and source.path == OPEN and source.args:
        return source.args[0]
    return source or Known(None)


def _read(walk: Walk, call: Call) -> Abstract | None:
    """``open(path).read()``, ``Path(path).read_text()``: a text that says which file it is of."""
    receiver = call.receiver
    if receiver is None or not (isinstance(receiver, (Known, Opaque)) or _is_open(receiver)):
        return None
    if call.path.endswith("read_text"):
        use_file(walk, "load", receiver, call)
    text = Opaque(f"text in {walk.line(call.node)}", receiver.tags)
    text.attributes[FILE] = [(ALWAYS, receiver)]
    return text


def _is_open(value: Abstract) -> bool:
    return isinstance(value, Made) and value.path == OPEN


def _held(walk: Walk, call: Call) -> Abstract | None:
    """``EasyDict(values)``, ``OmegaConf.create(values)``: the values, to be had as attributes too."""
    value = call.args[0] if call.args else None
    if isinstance(value, Opaque):
        return value
    table = value if isinstance(value, Table) else Table({name: [(ALWAYS, one)] for name, one in call.kwargs.items()})
    return dotted(walk, call, table) if isinstance(value, Table) or not call.args else None


def dotted(walk: Walk, call: Call, table: Table, depth: int = 4) -> Made:
    """Return an object whose attributes are the items of a dictionary, and those of the dictionaries in it."""
    made = walk.make(call, table.tags, NAMESPACE)
    for key, cell in table.cells.items():
        made.attributes[key] = [
            (when, dotted(walk, call, value, depth - 1) if isinstance(value, Table) and depth else value)
            for when, value in cell
        ]
    return made


def _merged(walk: Walk, call: Call) -> Abstract | None:
    """``OmegaConf.merge(base, of_the_user)``: what the base says, which is a default then."""
    base = call.args[0] if call.args else None
    return _as_options(walk, call, base) if isinstance(base, Made) and base.path == NAMESPACE else base


def _as_options(walk: Walk, call: Call, base: Made, depth: int = 4) -> Made:
    made = walk.make(call, base.tags | {"configuration"}, NAMESPACE)
    for name, cell in base.attributes.items():
        value = read(cell, walk.path)
        if isinstance(value, Made) and value.path == NAMESPACE and depth:
            value = _as_options(walk, call, value, depth - 1)
        elif isinstance(value, Known):
            value = Opaque(f"cfg.{name}", frozenset({"configuration"}), origin="configuration", default=value)
        made.attributes[name] = [(ALWAYS, value)]
    return made


def _merged_from(walk: Walk, call: Call) -> Abstract | None:
    """``cfg.merge_from_list(args.opts)`` of yacs: from now on what was written into ``cfg`` is a default."""
    node = call.receiver
    if _is_cfg_node(node):
        _given_by_user(node, "cfg")
    return None


def _is_cfg_node(value: Abstract | None) -> TypeGuard[Made | Object]:
    if isinstance(value, Object):
        return any(base.endswith(CFG_NODE) for base in value.cls.external_bases())
    return isinstance(value, Made) and value.path.endswith(CFG_NODE)


def _given_by_user(node: Made | Object, path: str, depth: int = 4) -> None:
    for name, cell in node.attributes.items():
        label = f"{path}.{name}"
        for at, (when, value) in enumerate(cell):
            if isinstance(value, Known):
                given = Opaque(label, frozenset({"configuration"}), origin="configuration", default=value)
                cell[at] = (when, given)
            elif depth and _is_cfg_node(value):
                _given_by_user(value, label, depth - 1)


CFG_NODE = ".CfgNode"
"""``yacs.config.CfgNode``, and what fvcore makes of it."""


def _same(walk: Walk, call: Call) -> Abstract | None:
    return call.args[0] if call.args else None


def hydra_main(walk: Walk, decorator: Made, function: Function) -> None:
    """``@hydra.main(config_path=…, config_name=…)``: the function gets the configuration that these name."""
    names = [arg.arg for arg in function.node.args.args]
    if names:
        function.options[names[0]] = _composed(walk, decorator.kwargs, os.path.dirname(function.module.file))


def _composed(walk: Walk, given: "dict[str, Abstract]", folder: str) -> Settings:
    path, name = known(given.get("config_path"), ""), known(given.get("config_name"), "")
    contents: tuple[object, ...] = ()
    if isinstance(path, (str, type(None))) and isinstance(name, str) and name:
        contents = composed(os.path.join(folder, path or ""), name)
    return Settings("cfg", contents, certain=bool(contents))


def _compose(walk: Walk, call: Call) -> Abstract:
    """``hydra.compose(config_name=…)``, after ``initialize(config_path=…)``."""
    name = call.argument("config_name", 0)
    given = {"config_name": name} if name is not None else {}
    cell = walk.patched.get(INITIALISED)
    if cell:
        given["config_path"] = cell[-1][1]
    return _composed(walk, given, os.path.dirname(call.frame.module.file))


def _initialise(walk: Walk, call: Call) -> Abstract:
    path = call.argument("config_path", 0) or call.kwargs.get("config_dir")
    if path is not None:
        walk.patched[INITIALISED] = [(ALWAYS, path)]
    return walk.make(call)


INITIALISED = "hydra.initialized"


def _instantiate(walk: Walk, call: Call) -> Abstract | None:
    """``instantiate(cfg.x, …)``: calls what ``_target_`` names, with the other items."""
    node = call.args[0] if call.args else None
    table = node.table() if isinstance(node, Settings) else node if isinstance(node, Table) else None
    if isinstance(node, Made) and node.path == NAMESPACE:
        table = Table(node.attributes)
    cell = table.cells.get("_target_") if table is not None else None
    target = known(by_default(cell[-1][1])) if cell else None
    if table is None or not isinstance(target, str):
        return None
    kwargs = {
        key: read(held, walk.path)
        for key, held in table.cells.items()
        if isinstance(key, str) and not key.startswith("_")
    }
    kwargs.update({key: value for key, value in call.kwargs.items() if not key.startswith("_")})
    callee = named(walk, target, call.node)
    partial = table.cells.get("_partial_")
    if "_partial_" in call.kwargs or (partial and known(by_default(partial[-1][1])) is True):
        return Partial(callee, call.args[1:], kwargs)
    return walk.call(callee, call._replace(args=call.args[1:], kwargs=kwargs, open=table.open))


def _named(walk: Walk, call: Call) -> Abstract | None:
    """``get_class(path)``, ``locate(path)``: what a dotted name names."""
    name = known(by_default(call.args[0])) if call.args else None
    return named(walk, name, call.node) if isinstance(name, str) else None


def named(walk: Walk, path: str, node: ast.AST) -> Abstract:
    """Return what a dotted name names: in a module of the project, or outside."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = walk.project.find(".".join(parts[:end]))
        if module is not None:
            value: Abstract = Package(module)
            for part in parts[end:]:
                value = walk.get(value, part, node)
            return value
    return External(canonical(path))


HOLDERS = (
    *("easydict.EasyDict", "munch.Munch", "munch.munchify", "munch.DefaultMunch", "addict.Dict", "box.Box"),
    *("attrdict.AttrDict", "dotmap.DotMap", "omegaconf.OmegaConf.create", "omegaconf.DictConfig"),
    *("ml_collections.ConfigDict", "mmcv.Config", "mmengine.Config", "mmcv.ConfigDict"),
)
FUNCTIONS = {
    **dict.fromkeys(("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "json.loads"), _loaded),
    **dict.fromkeys(("omegaconf.OmegaConf.load", "hjson.load", "yamlreader.yaml_load"), _loaded),
    **dict.fromkeys(HOLDERS, _held),
    "omegaconf.OmegaConf.merge": _merged,
    **dict.fromkeys(
        (
            "omegaconf.OmegaConf.to_container",
            "omegaconf.OmegaConf.to_object",
            "omegaconf.OmegaConf.structured",
            "omegaconf.OmegaConf.unsafe_merge",
        ),
        _same,
    ),
    "hydra.compose": _compose,
    "hydra.initialize": _initialise,
    "hydra.initialize_config_dir": _initialise,
    "hydra.utils.instantiate": _instantiate,
    "hydra.utils.call": _instantiate,
    **dict.fromkeys(("hydra.utils.get_class", "hydra.utils.get_method", "pydoc.locate"), _named),
}
METHODS = {
    "read": _read,
    "read_text": _read,
    **dict.fromkeys(("merge_from_file", "merge_from_list", "merge_from_other_cfg"), _merged_from),
}

"""Files: what is written into them and read from them, and which of them there are."""

import ast
from typing import Any

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.events import Event, FileUsed
from ddpdoctor.reader.abstract import NONE, TRUE, Abstract, External, Items, Known, Opaque, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.formulas import boolean, truth_of
from ddpdoctor.reader.library.reports import in_order, numbers_of_batches, own_part
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

IN_MEMORY = ("io.BytesIO", "io.StringIO", "tempfile.")


def use_file(walk: Walk, op: str, target: Abstract, call: Call, **fields: Any) -> list[Event]:
    """Record that a call uses a file; return the events, one for each name that it can have."""
    return record_use(walk, op, target, call.node, call.path, **fields)


def record_use(walk: Walk, op: str, target: Abstract, node: ast.AST, by: str, **fields: Any) -> list[Event]:
    """Record that a file is used by what stands somewhere; return the events, one for each name that it can have."""
    before, used = walk.path, []
    for when, option in options(target):
        here = walk.assuming_also(when)
        if here is None or (isinstance(option, Made) and option.path.startswith(IN_MEMORY)):
            continue
        walk.path = here
        path = _opened(option)
        if not _is_null(path):
            used.append(walk.emit(FileUsed, node, op=op, path=lower(_placed(walk, path)), by=by, **fields))
        walk.path = before
    return used


def _opened(target: Abstract) -> Abstract:
    """Return the path of an open file, whichever function has opened it; what is a path already as it is."""
    if not isinstance(target, Made):
        return target
    if target.path.rpartition(".")[2] in OPENING and target.args:
        return target.args[0]
    return Opaque(text(target), target.tags) if "rank" in target.tags else target


OPENING = frozenset({"open", "xopen", "GFile", "BlobFile"})
"""The builtin, ``gzip.open``, ``fsspec.open``, iopath's ``g_pathmgr.open``, and what gfile and blobfile have."""


def _is_null(path: Abstract) -> bool:
    """Whether a file is the one that keeps nothing."""
    return known(path) in ("/dev/null", "NUL") or (isinstance(path, External) and path.path == "os.devnull")


def _placed(walk: Walk, path: Abstract) -> Abstract:
    """Return a path as it is after ``os.chdir``: a relative one is the rank's own in a folder of the rank's own."""
    if walk.own_folder and isinstance(path, Known) and isinstance(path.value, str) and not path.value.startswith("/"):
        return Opaque(path.value, frozenset({"rank"}))
    return path


def _change_folder(walk: Walk, call: Call) -> Abstract:
    """``os.chdir(path)``: into a folder of the rank's own, or back into one that all share."""
    for _, option in options(call.argument("path", 0) or NONE):
        walk.own_folder = "rank" in option.tags or (walk.own_folder and not _is_absolute(option))
    return NONE


def _is_absolute(path: Abstract) -> bool:
    return not isinstance(path, Known) or str(path.value).startswith("/")


def part_of(source: Abstract) -> frozenset[str]:
    """Return the mark of a rank's own part of the data, for what is read from a file of the rank's own."""
    return frozenset({"shard"}) if source.tags & {"rank", "shard"} else frozenset()


def _open(walk: Walk, call: Call) -> Abstract:
    """``open(path)``: one that is opened to be read is read."""
    file = walk.make(call)
    write(file.attributes, OPENED, walk.path, TRUE)
    if "r" in mode_of(file) and "+" not in mode_of(file):
        use_file(walk, "load", file, call)
    return file


OPENED = "opened"
"""The hidden attribute of an open file that holds the condition under which it was opened."""


def opened_under(file: Made) -> Condition:
    """Return the condition under which a file was opened: whoever writes into it has met that one too."""
    cell = file.attributes.get(OPENED)
    return cell[0][0] if cell else ALWAYS


def mode_of(file: Made) -> frozenset[str]:
    """Return the letters of the mode that a file is opened in, as far as it is known."""
    given = file.args[1] if len(file.args) > 1 else file.kwargs.get("mode", Known("r"))
    mode = known(given)
    return frozenset(mode) if isinstance(mode, str) else frozenset()


def _named_open(walk: Walk, call: Call) -> Abstract | None:
    """``Path.open``: an open file of that name."""
    return _open(walk, call._replace(args=(call.receiver, *call.args), path="builtins.open")) if call.receiver else None


def _read_bytes(walk: Walk, call: Call) -> Abstract | None:
    """``path.read_bytes()``: what comes of it is not known."""
    if call.receiver is not None:
        use_file(walk, "load", call.receiver, call)
    return None


def _save_pretrained(walk: Walk, call: Call) -> Abstract | None:
    """``model.save_pretrained(folder)``; with ``is_main_process`` only where that holds, as its documentation says."""
    if not isinstance(call.receiver, (Made, Object, Opaque)) or not call.args:
        return None
    main = call.kwargs.get("is_main_process")
    before, here = walk.path, walk.assuming(True if main is None else truth_of(walk, main, call.node))
    if here is not None:
        walk.path = here
        use_file(walk, "save", call.args[0], call)
        walk.path = before
    return NONE


def _own_to_each_process(walk: Walk, call: Call) -> Abstract:
    """A name or folder that no other process gets: a temporary one, or one with a process id or random bits in it."""
    made = walk.make(call)
    made.tags |= {"rank"}
    return made


def _tensor_save(walk: Walk, call: Call) -> Abstract:
    """``np.save(path, array)``, ``pickle.dump(object, file)``, safetensors' ``save_file(tensors, path)``."""
    position = 0 if call.path == "numpy.save" else 1
    if len(call.args) > position:
        content = call.args[1 - position] if len(call.args) > 1 else NONE
        checkpoint = "checkpoint" in content.tags or _holds_state(content)
        own = {one for _, tags in numbers_of_batches(content) for one in own_part(tags)} if not checkpoint else set()
        use_file(walk, "save" if checkpoint else "write", call.args[position], call, loaders=in_order(own))
    return NONE


def _holds_state(value: Abstract, depth: int = 2) -> bool:
    """Whether a value is a model's state or holds one, which makes the file a checkpoint."""
    held: list[Abstract] = []
    if isinstance(value, Items):
        held = value.items
    elif isinstance(value, Table):
        held = [option for cell in value.cells.values() for _, option in cell]
    elif isinstance(value, Made) and value.path == "builtins.dict":
        held = list(value.kwargs.values())
    nested = depth > 0 and any(_holds_state(one, depth - 1) for one in held[:MAX_HELD])
    return nested or (isinstance(value, Made) and value.path.endswith("state_dict"))


MAX_HELD = 16
"""How many values of a container are asked whether they are a model's state."""


def _tensor_load(walk: Walk, call: Call) -> Abstract | None:
    """``np.load(path)``, ``pickle.load(file)``: what comes of it flows from nothing else."""
    if not call.args:
        return None
    use_file(walk, "load", call.args[0], call)
    return Opaque(f"{call.path} in {walk.line(call.node)}", part_of(call.args[0]))


def _exists(walk: Walk, call: Call) -> Abstract | None:
    """Whether a file is there: whatever names it, no option decides that."""
    path = call.receiver if call.receiver is not None else call.argument("path", 0)
    if path is None or isinstance(path, Object):
        return None
    seen = frozenset({"file"}) if walk.loops else NO_TAGS  # asked again and again: a rank can be the first to see it
    return boolean(walk.literal(f"{text(path)} exists", "other", None, call.node, tags=seen))


def _lock(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract]:
    return "lock", manager


def _in_turn(walk: Walk, call: Call) -> Abstract:
    return walk.make(call)


OWN = (
    *(f"tempfile.{name}" for name in ("mkdtemp", "mkstemp", "mktemp", "TemporaryDirectory", "NamedTemporaryFile")),
    *("os.getpid", "uuid.uuid1", "uuid.uuid4", "secrets.token_hex", "secrets.token_urlsafe", "os.urandom"),
    *("multiprocessing.current_process", "torch.multiprocessing.current_process", "threading.get_native_id"),
)

SHORT = "batchgenerators.utilities.file_and_folder_operations."
"""Of the package that nnU-Net stands on: short names for the system's functions, and for whole files."""

FUNCTIONS = {
    **dict.fromkeys(OWN, _own_to_each_process),
    **dict.fromkeys((f"{SHORT}isfile", f"{SHORT}isdir"), _exists),
    **dict.fromkeys((f"{SHORT}load_json", f"{SHORT}load_pickle"), _tensor_load),
    **{f"{SHORT}{verb}_{kind}": _tensor_save for verb in ("save", "write") for kind in ("json", "pickle")},
    "os.chdir": _change_folder,
    **dict.fromkeys(("pathlib.Path.exists", "pathlib.Path.is_file", "pathlib.Path.is_dir"), _exists),
    "os.path.exists": _exists,
    "os.path.isfile": _exists,
    "os.path.isdir": _exists,
    "builtins.open": _open,
    "numpy.save": _tensor_save,
    "pickle.dump": _tensor_save,
    "joblib.dump": _tensor_save,
    "numpy.load": _tensor_load,
    "pickle.load": _tensor_load,
    "safetensors.torch.save_file": _tensor_save,
}
FIRST = ("main_process_first", "local_main_process_first")
"""Blocks of Accelerate and transformers that the others enter when the first rank, or that of the node, has left."""
CONTEXTS = dict.fromkeys(("FileLock", "SoftFileLock", "InterProcessLock", "portalocker.Lock", *FIRST), _lock)
METHODS = {
    **dict.fromkeys(FIRST, _in_turn),
    **dict.fromkeys(("exists", "is_file", "is_dir"), _exists),
    "open": _named_open,
    "read_bytes": _read_bytes,
    "save_pretrained": _save_pretrained,
}

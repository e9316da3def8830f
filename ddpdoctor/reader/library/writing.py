"""Files that are written or read whole by other means than a save: texts, tables, pictures, trained tokenizers."""

import ast
from collections.abc import Iterable

from ddpdoctor.events import FileUsed
from ddpdoctor.reader.abstract import Abstract, Choice, Items, Known, Opaque, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.files import mode_of, opened_under, record_use, use_file
from ddpdoctor.reader.library.reports import in_order, numbers_of_batches, own_part
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref


def _opened(walk: Walk, manager: Abstract, node: ast.AST) -> None:
    """``with open(path, "w")``: the block writes the file whole, or adds to it; one that stays open is a log."""
    letters = mode_of(manager) if isinstance(manager, Made) else frozenset[str]()
    if isinstance(manager, Made) and letters & set("wxa"):
        record_use(walk, "append" if "a" in letters else "write", manager, node, manager.path)


def write_into(walk: Walk, file: Abstract, content: Abstract, call: Call) -> None:
    """Record that a file, which is open to be written whole or added to, gets what a rank computed by itself."""
    own = own_loaders(content)
    for when, option in options(file) if own else ():
        if isinstance(option, Made) and option.path == "builtins.open" and mode_of(option) & set("wxa"):
            before, here = walk.path, walk.assuming_also(when | opened_under(option))
            if here is not None:
                walk.path = here
                added = "a" in mode_of(option)
                said = () if added and "rank" in content.tags else own  # a line that says whose it is
                op = "append" if added else "write"
                record_use(walk, op, option, call.node, option.path, place=option.ref.place, loaders=said)
                walk.path = before


def own_loaders(content: Abstract) -> tuple[Ref, ...]:
    """Return the loaders from whose batches alone a rank computed what is written."""
    return in_order({one for _, tags in numbers_of_batches(content) for one in own_part(tags)})


def _dumped(walk: Walk, call: Call) -> None:
    """``json.dump(what, open(path, "w"))``: the file is written whole here, whether or not a block holds it open."""
    file = call.argument("stream" if call.path.startswith("yaml.") else "fp", 1)
    if file is not None and call.args:
        write_into(walk, file, call.args[0], call)
    if isinstance(file, Made) and file.path == "builtins.open" and mode_of(file) & set("wx"):
        use_file(walk, "write", file, call, timed=_is_timed(call.args[0]) if call.args else False)


def _is_timed(content: Abstract, depth: int = 4) -> bool:
    """Whether what is written has a number in it that a rank measured by its own clock."""
    held: Iterable[Abstract] = (option for _, option in options(content)) if isinstance(content, Choice) else ()
    if isinstance(content, Items):
        held = content.items[:MAX_HELD]
    elif isinstance(content, Table):
        held = (option for cell in list(content.cells.values())[:MAX_HELD] for _, option in cell[-2:])
    elif isinstance(content, Opaque):
        return "clock" in content.tags
    return depth > 0 and any(_is_timed(one, depth - 1) for one in held)


MAX_HELD = 48
"""How many values of a container are asked whether they are times."""


def _written(walk: Walk, call: Call) -> None:
    """``image.save(path)``, ``frame.to_csv(path)``, ``np.savez(path, …)``: a call that writes one file."""
    named = next((call.kwargs[name] for name in NAMES if name in call.kwargs), None)
    target = named or call.argument("", 0)
    if target is not None and known(target, "") is not None:  # with no name at all the text is returned
        content = [*call.args[1:], *call.kwargs.values(), *([call.receiver] if call.receiver is not None else [])]
        use_file(walk, "write", target, call, loaders=own_loaders(Items(content)))


def _tensor_written(walk: Walk, call: Call) -> None:
    """``save_image(images, path)``, ``torchaudio.save(path, sound, rate)``: what is written comes first or second."""
    position = 0 if call.path == "torchaudio.save" else 1
    named = next((call.kwargs[name] for name in NAMES if name in call.kwargs), None)
    target = named or (call.args[position] if len(call.args) > position else None)
    if target is not None:
        content = [*(one for one in call.args if one is not target), *call.kwargs.values()]
        use_file(walk, "write", target, call, loaders=own_loaders(Items(content)))


def _drawn(walk: Walk, call: Call) -> None:
    """``plt.plot(losses)``, ``axes.plot(losses)``: it is in the picture that is written next."""
    if own_loaders(Items(call.given())) and len(walk.drawn) < MAX_DRAWN:
        walk.drawn = (*walk.drawn, *call.given())


MAX_DRAWN = 32


def _begun(walk: Walk, call: Call) -> None:
    """``plt.figure()``, ``plt.close()``: what is drawn next is another picture."""
    walk.drawn = ()


def _pictured(walk: Walk, call: Call) -> None:
    """``plt.savefig(path)``, ``figure.savefig(path)``."""
    _written(walk, call._replace(kwargs={**call.kwargs, "drawn": Items(walk.drawn)}))


def _read(walk: Walk, call: Call) -> None:
    """``pandas.read_csv(path)``, ``Tokenizer.from_file(path)``."""
    if call.args:
        use_file(walk, "load", call.args[0], call)


def _trained(walk: Walk, call: Call) -> None:
    """``SentencePieceTrainer.train(model_prefix=…)``: it writes ``<prefix>.model`` and ``<prefix>.vocab``."""
    prefix = call.kwargs.get("model_prefix")
    if prefix is not None:
        use_file(walk, "write", _with_ending(prefix), call)


def _processor(walk: Walk, call: Call) -> None:
    """``SentencePieceProcessor(model_file=…)``, and its ``load(…)``."""
    model = call.argument("model_file", 0)
    if model is not None:
        use_file(walk, "load", model, call)


def _row(walk: Walk, call: Call) -> None:
    """``csv.writer(file).writerow(row)``."""
    if isinstance(call.receiver, Made) and call.receiver.args and call.args:
        write_into(walk, call.receiver.args[0], call.args[0], call)


def _log_file(walk: Walk, call: Call) -> None:
    """``FileHandler(path, "w")`` and ``basicConfig(filename=path, filemode="w")``: opened here, and emptied."""
    configures = call.path == "logging.basicConfig"
    path = call.kwargs.get("filename") if configures else call.argument("filename", 0)
    mode = call.kwargs.get("filemode") if configures else call.argument("mode", 1)
    letters = known(mode)
    if path is not None and known(path, "") is not None and isinstance(letters, str) and "w" in letters:
        use_file(walk, "write", path, call)
    elif path is not None and mode is None and _is_removed_first(walk, path):
        record_use(walk, "write", path, call.node, "os.remove")


def _removed(walk: Walk, call: Call) -> None:
    """``os.remove(path)``."""
    if call.args:
        use_file(walk, "remove", call.args[0], call)


def _is_removed_first(walk: Walk, path: Abstract) -> bool:
    """Whether who comes here has removed a file before, where it was there at all."""
    name = lower(path).text()
    removals = (one for one in walk.events if isinstance(one, FileUsed) and one.op == "remove")
    for removal in removals:
        if removal.path.text() == name and removal.process == walk.process:
            return all(literal.atom.text == f"{name} exists" for literal in removal.when - walk.path)
    return False


def _mapped(walk: Walk, call: Call) -> None:
    """``np.memmap(path, mode="w+")``, ``h5py.File(path, "w")``: written where it is opened anew, else read."""
    path = call.argument("name" if call.path.startswith("h5py.") else "filename", 0)
    mode = known(call.argument("mode", 1 if call.path.startswith("h5py.") else 2))
    if path is not None and (isinstance(mode, str) or mode is None):
        anew = isinstance(mode, str) and mode[:1] in ("w", "x")
        use_file(walk, "write" if anew else "load", path, call)


def _exported(walk: Walk, call: Call) -> None:
    """``torch.onnx.export(model, inputs, path)``, ``save_model(model, path)``, ``torch.jit.script(net).save(path)``."""
    names = {"torch.onnx.export": ("f", 2), "safetensors.torch.save_model": ("filename", 1)}
    path = call.argument(*names.get(call.path, ("f", 0)))
    if path is not None:
        use_file(walk, "save", path, call)


def _with_ending(prefix: Abstract) -> Abstract:
    value = known(prefix)
    return Known(f"{value}.model") if isinstance(value, str) else prefix


NAMES = ("path_or_buf", "path", "fp", "fname", "filename", "file", "uri")
TOKENIZERS = (
    *("tokenizers.Tokenizer", "tokenizers.ByteLevelBPETokenizer", "tokenizers.BertWordPieceTokenizer"),
    *("tokenizers.CharBPETokenizer", "tokenizers.SentencePieceBPETokenizer"),
)
PICTURES = ("PIL.Image.fromarray", "PIL.Image.new", "PIL.Image.open", "torchvision.transforms.functional.to_pil_image")

DRAWING = ("plot", "semilogy", "semilogx", "loglog", "scatter", "bar", "hist", "fill_between", "errorbar")

FUNCTIONS = {
    **dict.fromkeys(("os.remove", "os.unlink"), _removed),
    "logging.FileHandler": _log_file,
    "logging.basicConfig": _log_file,
    "json.dump": _dumped,
    "yaml.dump": _dumped,
    "yaml.safe_dump": _dumped,
    "numpy.savez": _written,
    "numpy.savez_compressed": _written,
    "numpy.savetxt": _written,
    **dict.fromkeys(("imageio.imwrite", "imageio.imsave", "imageio.mimwrite", "imageio.mimsave"), _written),
    **dict.fromkeys(("skimage.io.imsave", "scipy.misc.imsave", "scipy.io.wavfile.write", "soundfile.write"), _written),
    **dict.fromkeys(("cv2.imwrite", "imageio.v2.imwrite", "scipy.io.savemat"), _written),
    "matplotlib.pyplot.savefig": _pictured,
    **{f"matplotlib.pyplot.{name}": _drawn for name in DRAWING},
    **{f"matplotlib.pyplot.{name}": _begun for name in ("figure", "subplots", "close", "clf", "cla")},
    "matplotlib.pyplot.imsave": _written,
    **dict.fromkeys(("torchvision.utils.save_image", "torchvision.io.write_jpeg"), _tensor_written),
    **dict.fromkeys(("torchvision.io.write_png", "torchaudio.save"), _tensor_written),
    "torchvision.io.write_video": _written,
    "scipy.sparse.save_npz": _written,
    **dict.fromkeys(("numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "scipy.sparse.load_npz"), _read),
    "joblib.load": _read,
    **{f"pandas.read_{kind}": _read for kind in ("csv", "pickle", "parquet", "feather", "json", "excel", "hdf")},
    **dict.fromkeys(("numpy.memmap", "numpy.lib.format.open_memmap", "h5py.File"), _mapped),
    **dict.fromkeys(("torch.onnx.export", "safetensors.torch.save_model"), _exported),
    "sentencepiece.SentencePieceTrainer.train": _trained,
    "sentencepiece.SentencePieceTrainer.Train": _trained,
    "sentencepiece.SentencePieceProcessor": _processor,
    **{f"{name}.from_file": _read for name in TOKENIZERS},
}
METHODS = {
    **{f"csv.{kind}.{name}": _row for kind in ("writer", "DictWriter") for name in ("writerow", "writerows")},
    **{f"sentencepiece.SentencePieceProcessor.{name}": _processor for name in ("load", "Load")},
    **{f"{name}.save": _written for name in (*TOKENIZERS, *PICTURES)},
    **{f"to_{kind}": _written for kind in ("csv", "parquet", "pickle", "excel", "feather", "json")},
    **{f"torch.jit.{made}.save": _exported for made in ("script", "trace", "freeze", "optimize_for_inference")},
    "export_chrome_trace": _written,
    "tofile": _written,
    "savefig": _pictured,
    **dict.fromkeys(DRAWING, _drawn),
}
CONTEXTS = {"builtins.open": _opened}

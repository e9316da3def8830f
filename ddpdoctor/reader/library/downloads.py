"""Downloads: by a library's function, by a command in a shell, or by writing what the web answered into a file."""

import re

from ddpdoctor.events import DatasetBuilt, FileUsed
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Known, Opaque, is_none, known, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.destinations import load_onto
from ddpdoctor.reader.library.files import use_file
from ddpdoctor.reader.library.writing import own_loaders, write_into
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Function, Made
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

ANSWERED = "from the web"
"""The tag of what a server answered, and of what was read from it."""


def _download(walk: Walk, call: Call) -> Abstract | None:
    name = _destination(call) or call.argument("url", 0) or call.argument("repo_or_dir", 0) or Known("")
    if call.path == "torch.hub.load" and known(call.kwargs.get("source")) == "local":
        return None
    walk.emit(FileUsed, call.node, op="download", path=lower(name), by=call.path)
    load_onto(walk, call.kwargs.get("map_location"), call)
    if call.path == "torch.hub.load":
        return walk.make(call, frozenset())
    return Opaque(f"{call.path}()")


def _graph_dataset(walk: Walk, call: Call) -> Abstract | None:
    """``Planetoid(root, name)``: PyG's data sets download what is missing, and write what they made of it, in place.

    Each looks whether the files are there and writes the final path (torch_geometric/data/dataset.py, ``_download``
    and ``_process``; data/download.py): nothing waits for another process. Those that are drawn have no root.
    """
    root = call.argument("root", 0)
    if root is None or not call.path.rpartition(".")[2][:1].isupper():
        return None
    made = walk.make(call)
    walk.emit(DatasetBuilt, call.node, dataset=made.ref)
    walk.emit(FileUsed, call.node, op="download", path=lower(root), by=call.path)
    return made


def _benchmark(walk: Walk, call: Call) -> Abstract | None:
    """``PygNodePropPredDataset(name, root)``: OGB's are downloaded, unpacked and processed in place (ogb/utils/url.py).

    DGL's (dgl/data/dgl_dataset.py) and those that scikit-learn fetches, too: nothing waits for another process.
    """
    last = call.path.rpartition(".")[2]
    if call.path.startswith("dgl.") and (not last.endswith("Dataset") or last in MADE_UP):
        return None
    if call.path.startswith("ogb.") and not last.endswith("Dataset"):
        return None
    names = {"dgl": "raw_dir", "ogb": "root", "sklearn": "data_home"}
    root = call.kwargs.get(names[call.path.partition(".")[0]])
    made = walk.make(call)
    walk.emit(DatasetBuilt, call.node, dataset=made.ref)
    walk.emit(FileUsed, call.node, op="download", path=lower(root or Known("its folder")), by=call.path)
    return made


MADE_UP = frozenset(
    {
        *("DGLDataset", "DGLBuiltinDataset", "CSVDataset", "MiniGCDataset", "AsNodePredDataset", "AsLinkPredDataset"),
        *("AsGraphPredDataset", "SBMMixtureDataset", "BAShapeDataset", "BACommunityDataset", "TreeCycleDataset"),
        *("TreeGridDataset", "BA2MotifDataset"),
    }
)
"""Data sets of DGL's that are drawn, or made of what is there."""


def _published(walk: Walk, call: Call) -> Abstract | None:
    """``clip.load("ViT-B/32")``: what has no file of that name is written to its final path (clip/clip.py)."""
    name = call.argument("name", 0)
    if not isinstance(known(name), str) or str(known(name)).endswith((".pt", ".pth")):
        return None
    root = call.kwargs.get("download_root")
    walk.emit(FileUsed, call.node, op="download", path=lower(root or Known("~/.cache/clip")), by=call.path)
    return None


def _vectors(walk: Walk, call: Call) -> Abstract | None:
    """``GloVe(name="6B")``: the archive is fetched and unpacked in place, and cached (torchtext/vocab/vectors.py)."""
    root = call.kwargs.get("cache") or Known(".vector_cache")
    walk.emit(FileUsed, call.node, op="download", path=lower(root), by=call.path)
    return None


def _corpus(walk: Walk, call: Call) -> Abstract | None:
    """``Multi30k(split="train")``: torchtext's are fetched and unpacked in place (torchtext/datasets, ``_cache``)."""
    last = call.path.rpartition(".")[2]
    if not last[:1].isupper():
        return None
    root = call.kwargs.get("root")
    made = walk.make(call)
    walk.emit(DatasetBuilt, call.node, dataset=made.ref)
    walk.emit(FileUsed, call.node, op="download", path=lower(root or Known("~/.torchtext/cache")), by=call.path)
    return made


def _own_graph_dataset(walk: Walk, call: Call) -> Abstract | None:
    """``super().__init__(root)`` in a data set of the program's own: it calls the class's ``download`` and ``process``.

    What the class processes is written into the folder that all ranks name.
    """
    root, instance = call.argument("root", 0), call.instance
    if root is None or is_none(root) or instance is None:
        return None
    if any(isinstance(class_attribute(walk, instance.cls, name), Function) for name in ("download", "process")):
        walk.emit(FileUsed, call.node, op="download", path=lower(root), by=call.path)
    return None


def _destination(call: Call) -> Abstract | None:
    """Return the file that a download is written to, where the call names it."""
    names = {"torch.hub.download_url_to_file": "dst", "wget.download": "out", "nltk.download": "download_dir"}
    names |= {"beir.util.download_url": "save_path", "beir.util.download_and_unzip": "out_dir"}
    name = "filename" if call.path.endswith("urlretrieve") else names.get(call.path, "output")
    return call.argument(name, 1)


def _command(walk: Walk, call: Call) -> Abstract | None:
    """A download by a command: ``wget`` or ``curl`` in a shell."""
    command = call.args[0] if call.args else None
    words = command.items if isinstance(command, Items) else [command] if command is not None else []
    line = " ".join(str(known(word, text(word))) for word in words).removeprefix('f"')
    if FETCHING.search(line):
        walk.emit(FileUsed, call.node, op="download", path=lower(Known(line[:80])), by=call.path)
    return None


FETCHING = re.compile(r"(?:^|[;&|] *)(?:wget|curl|gdown|aria2c|unzip|tar -?[a-z]*x[a-z]*|kaggle datasets download) ")
"""Commands that write files into a place that all ranks name, at the start of a line or after other commands."""


def _answer(walk: Walk, call: Call) -> Abstract:
    """``requests.get(url)``: a response, whose content is written somewhere else."""
    made = walk.make(call)
    made.tags |= {ANSWERED}
    return made


def _written(walk: Walk, call: Call) -> Abstract | None:
    """``file.write(response.content)``: into an open file; what goes into the memory is none.

    What a rank computed by itself is written there too.
    """
    content = call.argument("data", 0)
    if content is not None and call.receiver is not None:
        write_into(walk, call.receiver, content, call)
    if content is None or ANSWERED not in content.tags or call.receiver is None:
        return None
    _into(walk, call.receiver, call)
    return Opaque(f"{text(call.receiver)}.write()")


def _written_whole(walk: Walk, call: Call) -> Abstract | None:
    """``path.write_bytes(response.content)``, or what the rank computed by itself."""
    content = call.argument("data", 0)
    if content is None or call.receiver is None:
        return None
    if ANSWERED not in content.tags:
        use_file(walk, "write", call.receiver, call, loaders=own_loaders(content))
        return None
    use_file(walk, "download", call.receiver, call)
    return Opaque(f"{text(call.receiver)}.write()")


def _copied(walk: Walk, call: Call) -> Abstract | None:
    """``shutil.copyfileobj(response, file)``."""
    source, target = call.argument("fsrc", 0), call.argument("fdst", 1)
    if source is None or target is None or ANSWERED not in source.tags:
        return None
    _into(walk, target, call)
    return NONE


def _into(walk: Walk, file: Abstract, call: Call) -> None:
    for when, option in options(file):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, Made) and option.path == "builtins.open":
            before, walk.path = walk.path, here
            use_file(walk, "download", option, call)
            walk.path = before


SESSIONS = ("requests.Session", "requests.session", "requests.sessions.Session", "httpx.Client")

FUNCTIONS = {
    "torch.hub.load": _download,
    "torch.hub.load_state_dict_from_url": _download,
    "torch.hub.download_url_to_file": _download,
    "torch.utils.model_zoo.load_url": _download,
    "torchvision.datasets.utils.download_url": _download,
    "torchvision.datasets.utils.download_and_extract_archive": _download,
    "torchvision.datasets.utils.download_file_from_google_drive": _download,
    **dict.fromkeys(("urllib.request.urlretrieve", "six.moves.urllib.request.urlretrieve"), _download),
    "wget.download": _download,
    "nltk.download": _download,
    "nltk.downloader.download": _download,
    "torchtext.utils.download_from_url": _download,
    "torchtext.utils.download_extract_archive": _download,
    "torch_geometric.data.download_url": _download,
    "torch_geometric.data.download_google_url": _download,
    "gdown.download": _download,
    "gdown.download_folder": _download,
    "beir.util.download_url": _download,
    "beir.util.download_and_unzip": _download,
    **dict.fromkeys(("clip.load", "whisper.load_model"), _published),
    **dict.fromkeys(("torchtext.vocab.GloVe", "torchtext.vocab.FastText", "torchtext.vocab.CharNGram"), _vectors),
    **dict.fromkeys(("os.system", "subprocess.run", "subprocess.call", "subprocess.check_call"), _command),
    **dict.fromkeys(("os.popen", "subprocess.check_output", "subprocess.getoutput", "subprocess.Popen"), _command),
    **dict.fromkeys(("requests.get", "httpx.get", "httpx.stream", "urllib3.request"), _answer),
    **dict.fromkeys(("urllib.request.urlopen", "six.moves.urllib.request.urlopen"), _answer),
    "shutil.copyfileobj": _copied,
    **dict.fromkeys(("torch_geometric.data.InMemoryDataset", "torch_geometric.data.Dataset"), _own_graph_dataset),
}
PREFIXES = {
    "torch_geometric.datasets.": _graph_dataset,
    "torchtext.datasets.": _corpus,
    **dict.fromkeys(("ogb.nodeproppred.", "ogb.linkproppred.", "ogb.graphproppred."), _benchmark),
    **dict.fromkeys(("dgl.data.", "sklearn.datasets.fetch_"), _benchmark),
}
METHODS = {
    **dict.fromkeys(
        ("requests.Session.get", "requests.session.get", "httpx.Client.get", "httpx.Client.stream"), _answer
    ),
    "write": _written,
    **dict.fromkeys(("write_bytes", "write_text"), _written_whole),
}

"""What a loader's data set is made of, and what becomes of it in the loader's workers."""

import ast
from collections.abc import Iterator

from ddpdoctor.events import DatasetChanged
from ddpdoctor.reader.abstract import Abstract, Items, Table, known, options
from ddpdoctor.reader.imports import resolved
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Class, Function, Made, Object, Package
from ddpdoctor.reader.rank_words import speaks_of_ranks
from ddpdoctor.reader.trees import last_name, nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

MAX_DEPTH = 4
"""How deep data sets are looked for in data sets, and transforms in transforms."""


def parts(value: Abstract, depth: int = 0) -> Iterator["Made | Object"]:
    """Yield the objects that a data set is made of: itself, those it wraps, its transforms."""
    if depth > MAX_DEPTH:
        return
    for _, option in options(value):
        if isinstance(option, Items):
            inner = list(option.items[:MAX_ITEMS])
        elif isinstance(option, Table):
            inner = [cell[-1][1] for cell in list(option.cells.values())[:MAX_ITEMS]]
        elif isinstance(option, (Made, Object)):
            yield option
            inner = [held for cell in option.attributes.values() for _, held in cell if held is not option]
            if isinstance(option, Made):
                inner += [*option.args, *option.kwargs.values()]
        else:
            continue
        for one in inner:
            yield from parts(one, depth + 1)


MAX_ITEMS = 16


def random_transform(dataset: Abstract) -> Ref | None:
    """Return a transform of torchvision's in a data set that changes each sample at random."""
    for part in parts(dataset):
        if isinstance(part, Made) and part.path.startswith("torchvision.transforms."):
            last = part.path.rpartition(".")[2]
            if last.startswith("Random") or last in RANDOM_TRANSFORMS:
                return part.ref
    return None


RANDOM_TRANSFORMS = frozenset(
    {
        "AugMix",
        "AutoAugment",
        "ColorJitter",
        "ElasticTransform",
        "RandAugment",
        "ScaleJitter",
        "TrivialAugmentWide",
    }
)
"""Those that are not called Random."""


def attributes_drawn_from(walk: Walk, dataset: Object) -> frozenset[str] | None:
    """Return the attributes that a data set's own code reads; ``None`` where code outside the project may read any."""
    if not PLAIN_BASES.issuperset(dataset.cls.external_bases()):
        return None
    return frozenset[str]().union(*(walk.syntax.names_read(one.node) for one in dataset.cls.resolution()))


PLAIN_BASES = frozenset({"torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "builtins.object"})


def is_stream(dataset: Abstract) -> bool:
    """Whether a data set is an iterable one: it has no indices that a sampler could deal out."""
    return any(_is_stream(option) for _, option in options(dataset))


def _is_stream(value: Abstract) -> bool:
    if isinstance(value, Object):
        return any(path.endswith("IterableDataset") for path in value.cls.external_bases())
    if not isinstance(value, Made):
        return False
    if value.path == "torch.utils.data.ChainDataset":
        return True
    return value.path == "datasets.load_dataset" and known(value.kwargs.get("streaming")) is True


def goes_its_own_way(walk: Walk, dataset: Abstract, worker_init: Abstract | None) -> bool:
    """Whether a data set may divide itself between the ranks, or give each of them samples of its own."""
    for part in parts(dataset):
        if isinstance(part, Made) and part.path.startswith(DIVIDE_THEMSELVES):
            return True
        if isinstance(part, Object) and _is_stream(part) and _may_go_its_own_way(walk, part.cls):
            return True
    return is_stream(dataset) and isinstance(worker_init, Function) and speaks_of_ranks(worker_init.node)


def is_cut_by_rank(dataset: Abstract) -> bool:
    """Whether a stream is told its rank and how many there are, and has nothing else that it could go by."""
    streams = [part for part in parts(dataset) if isinstance(part, Object) and _is_stream(part)]
    return bool(streams) and all(_cuts_by_rank(stream) for stream in streams)


def _cuts_by_rank(stream: Object) -> bool:
    tags = {name: cell[-1][1].tags for name, cell in stream.attributes.items() if isinstance(name, str)}
    numbers = {name for name, flow in tags.items() if flow & {"rank", "world"}}
    used: set[str] = set()
    for one in stream.cls.resolution():
        for method in one.node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                used |= _own_attributes(method)
                tests = [node.test for node in nodes_of(method) if isinstance(node, (ast.If, ast.IfExp))]
                if any(_own_attributes(test) - numbers for test in tests):
                    return False  # whether it is for training, say
    return all(any(kind in tags[name] for name in used & numbers) for kind in ("rank", "world"))


def _own_attributes(node: ast.AST) -> set[str]:
    """Return the attributes of ``self`` that some syntax speaks of."""
    held = (part for part in nodes_of(node) if isinstance(part, ast.Attribute))
    return {part.attr for part in held if isinstance(part.value, ast.Name) and part.value.id == "self"}


DIVIDE_THEMSELVES = (
    "webdataset.",
    "streaming.",
    "torchdata.",
    "nvidia.dali.",
    "ffcv.",
    "litdata.",
    "deeplake.",
    "ray.",
)
"""Libraries whose loading asks for the rank by itself, or is told it in ways that are not followed."""


def _may_go_its_own_way(walk: Walk, cls: Class) -> bool:
    """Whether a stream draws at random, or a function that its class calls asks for the rank."""
    for one in cls.resolution():
        for node in nodes_of(one.node):
            if isinstance(node, (ast.Name, ast.Attribute)):
                if last_name(node) in AT_RANDOM:
                    return True
                called = _named(walk, one.module, node)
                if isinstance(called, Function) and speaks_of_ranks(called.node):
                    return True
                if isinstance(called, Class) and called is not one and walk.syntax.mentions_rank(called):
                    return True
    return False


AT_RANDOM = frozenset(
    [
        "rand",
        "randn",
        "randint",
        "rand_like",
        "randn_like",
        "random_",
        "choice",
        "choices",
        "uniform",
        "normal",
        "gauss",
        "sample",
        "integers",
        "multinomial",
    ]
)
"""Functions by which a stream draws other samples on every rank, where no seed is the same."""


def _named(walk: Walk, module: Module, node: "ast.Name | ast.Attribute") -> Abstract | None:
    """Return what a name in a class's body stands for: a function or class of the project."""
    if isinstance(node, ast.Name):
        cell = module.cells.get(node.id)
        return resolved(walk, cell[-1][1]) if cell else None
    holder = _named(walk, module, node.value) if isinstance(node.value, ast.Name) else None
    if not isinstance(holder, Package):
        return None
    cell = holder.module.cells.get(node.attr)
    return resolved(walk, cell[-1][1]) if cell else None


def looks_at_worker(walk: Walk, dataset: Abstract) -> bool:
    """Whether a data set divides itself between the workers of one loader."""
    return any(
        isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) == "get_worker_info"
        for part in parts(dataset)
        if isinstance(part, Object)
        for one in part.cls.resolution()
        for node in nodes_of(one.node)
    )


def copy_to_workers(walk: Walk, dataset: Abstract, loader: Ref) -> None:
    """Note that a loader's workers keep the copies of the data set that they began with for all epochs."""
    for part in parts(dataset):
        if isinstance(part, Object):
            walk.copied[part.ref] = loader


def changed(walk: Walk, value: Object, name: str, node: ast.AST) -> None:
    """Record that an attribute is written that the workers read from their copies, where they keep them."""
    loader = walk.copied.get(value.ref)
    if loader is None or not walk.loops:
        return
    drawn_with = walk.syntax.drawn_with(value.cls)
    frame = walk.frames[-1] if walk.frames else None
    by_itself = frame is not None and frame.receiver is value and walk.stack
    within = frame.function.name if frame is not None and by_itself and frame.function is not None else ""
    if name not in drawn_with or within in drawn_with:
        return
    place = walk.stack[-1] if by_itself else walk.place(node)
    walk.emit(DatasetChanged, node, place=place, dataset=value.ref, loader=loader, attribute=name)

"""Datasets, samplers and loaders, and how the data is divided between the ranks."""

import ast

from ddpdoctor.events import DatasetBuilt, EpochSet, FileUsed, LoaderBuilt, SamplerBuilt
from ddpdoctor.place import Place
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Known, Opaque, is_none, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cuts import uneven_cut
from ddpdoctor.reader.lengths import lengths, note, split_into
from ddpdoctor.reader.library.datasets import (
    copy_to_workers,
    is_cut_by_rank,
    is_stream,
    looks_at_worker,
    random_transform,
)
from ddpdoctor.reader.library.kinds import DISTRIBUTED_SAMPLER, LOADER, RANK_AWARE
from ddpdoctor.reader.library.sample_caches import look_for_sample_caches
from ddpdoctor.reader.library.sharding import sharded_by
from ddpdoctor.reader.library.workers import look_into_workers
from ddpdoctor.reader.lowering import lower, lower_optional
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import UNKNOWN_VALUE, Ref

_LOADER_ARGUMENTS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers")


def _loader(walk: Walk, call: Call) -> Abstract:
    given = {name: call.argument(name, i) for i, name in enumerate(_LOADER_ARGUMENTS)}
    dataset = given["dataset"]
    made = walk.make(call, frozenset(tag for tag in call.flow() if tag in ("shard", "configuration")), LOADER)
    made.tags |= {("loader", made.ref)}
    walk.emit(
        LoaderBuilt,
        call.node,
        loader=made.ref,
        dataset=UNKNOWN_VALUE if dataset is None else lower(dataset),
        sampler=lower_optional(given["sampler"]),
        batch_sampler=lower_optional(given["batch_sampler"]),
        shuffle=lower_optional(given["shuffle"]),
        batch_size=lower_optional(given["batch_size"]),
        workers=lower_optional(given["num_workers"]),
        persistent_workers=lower_optional(call.kwargs.get("persistent_workers")),
        drop_last=lower_optional(call.argument("drop_last", 8)),
        distributed_samplers=tuple(
            dict.fromkeys(_distributed(given["sampler"]) + _distributed(given["batch_sampler"]))
        ),
        sharded_by=sharded_by(walk, call, given),
        augmented_by=_augmented_by(call, dataset),
        cut=_cut(walk, given),
        iterable=dataset is not None and is_stream(dataset),
        cut_by_rank=dataset is not None and is_cut_by_rank(dataset),
        split_by_worker=dataset is not None and looks_at_worker(walk, dataset),
    )
    if dataset is not None:
        look_into_workers(walk, call, made.ref, dataset)
        look_for_sample_caches(walk, call.node, made.ref, dataset)
        if not is_none(call.kwargs.get("persistent_workers")):
            copy_to_workers(walk, dataset, made.ref)
    return made


def _augmented_by(call: Call, dataset: Abstract | None) -> Ref | None:
    """Return a random transform whose generator is seeded as the process's is: by no function or generator given."""
    if dataset is None or not all(is_none(call.kwargs.get(name)) for name in ("generator", "worker_init_fn")):
        return None
    return random_transform(dataset)


def _cut(walk: Walk, given: "dict[str, Abstract | None]") -> Place | None:
    """Return where a rank's part was cut out of the data such that some ranks may have more samples than others.

    That is none where a DistributedSampler, or batches of the script's own, decide how many there are, and where the
    script has looked at a remainder before (``assert len(data) % n == 0``).
    """
    if _distributed(given["sampler"]) or not is_none(given["batch_sampler"]):
        return None
    if any(" % " in literal.atom.text for literal in walk.path):
        return None
    return uneven_cut(given["dataset"]) or uneven_cut(given["sampler"])


def _distributed(value: Abstract | None, depth: int = 0) -> list[Ref]:
    """Return the distributed samplers that a sampler is, or draws from."""
    found: list[Ref] = []
    for _, option in options(value or NONE):
        if isinstance(option, (Made, Object)) and depth < MAX_DEPTH:
            made = option if isinstance(option, Made) else option.inner
            if isinstance(made, Made):
                if made.path in RANK_AWARE:
                    found.append(option.ref)
                for part in (*made.args, *made.kwargs.values()):
                    found += _distributed(part, depth + 1)
            for cell in option.attributes.values():
                for _, held in cell:
                    if held is not option:
                        found += _distributed(held, depth + 1)
    return found


MAX_DEPTH = 4
"""How many samplers inside samplers are looked into."""


def _sampler(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call, frozenset())
    walk.emit(
        SamplerBuilt,
        call.node,
        sampler=made.ref,
        dataset=lower(call.argument("dataset", 0) or NONE),
        replicas=lower_optional(call.argument("num_replicas", 1)),
        sampler_rank=lower_optional(call.argument("rank", 2)),
        shuffle=lower_optional(call.argument("shuffle", 3)),
        seed=lower_optional(call.argument("seed", 4)),
        drop_last=lower_optional(call.argument("drop_last", 5)),
        lengths=lengths(walk, call.argument("dataset", 0)),
    )
    return made


def _monai_sampler(walk: Walk, call: Call) -> Abstract:
    """MONAI's DistributedSampler takes ``even_divisible`` second; the rest is PyTorch's."""
    return _sampler(walk, call._replace(args=call.args[:1]))


def _ordered_sampler(walk: Walk, call: Call) -> Abstract:
    """The sampler that timm has for evaluation takes no ``shuffle``: the samples keep their order."""
    return _sampler(walk, call._replace(args=call.args[:3], kwargs={**call.kwargs, "shuffle": Known(value=False)}))


def _repeating_sampler(walk: Walk, call: Call) -> Abstract:
    """The sampler of augmented copies that timm has takes after PyTorch's first four arguments others of its own."""
    return _sampler(walk, call._replace(args=call.args[:4]))


def _plain_sampler(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call, frozenset(tag for tag in call.flow() if tag in ("shard", "rank")))
    walk.emit(SamplerBuilt, call.node, sampler=made.ref, dataset=lower(call.argument("data_source", 0) or NONE))
    return made


def _downloading_dataset(walk: Walk, call: Call) -> Abstract:
    """``CIFAR10(root, download=True)``: each of these writes, or unpacks, into the folder that others may read."""
    made = walk.make(call)
    walk.emit(DatasetBuilt, call.node, dataset=made.ref)
    package, _, name = call.path.rpartition(".")
    download = call.argument("download", _DOWNLOAD_POSITION.get(name, _USUAL_POSITION.get(package)))
    for when, option in options(download or NONE):
        here = walk.assuming_also(when)
        default = option.default if isinstance(option, Opaque) else option
        if here is not None and isinstance(default, Known) and default.value is True:
            before, walk.path = walk.path, here
            root = call.argument("root", 0)
            walk.emit(FileUsed, call.node, op="download", path=lower(root or Known("its root folder")), by=call.path)
            walk.path = before
    return made


_DOWNLOAD_POSITION = {
    **dict.fromkeys(("CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "KMNIST", "SVHN"), 4),
    **{"STL10": 5, "VCTK_092": 2, "DR_VCTK": 2},
}
_USUAL_POSITION = {"torchaudio.datasets": 3, "medmnist": 3}


def _dataset(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call)
    walk.emit(DatasetBuilt, call.node, dataset=made.ref)
    return made


def _random_split(walk: Walk, call: Call) -> Abstract:
    """Each part is a dataset of its own; which part a rank takes may depend on the rank."""
    lengths_given = call.argument("lengths", 1)
    known_ones = lengths_given.items if isinstance(lengths_given, Items) and not lengths_given.open else []
    sizes = split_into(walk, call.argument("dataset", 0), known_ones)
    parts = [walk.make(call) for _ in sizes[:6]]
    for part, size in zip(parts, sizes, strict=False):
        note(part, size)
    return Items(parts) if parts else Items([walk.make(call)], more=True)


def _set_epoch(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if receiver is None:
        return None
    value = call.argument("epoch", 0)
    walk.emit(EpochSet, call.node, target=lower(receiver), value=UNKNOWN_VALUE if value is None else lower(value))
    return NONE


def epoch_written(walk: Walk, sampler: Made, value: Abstract, node: ast.AST) -> None:
    """``sampler.epoch = epoch``: all that ``set_epoch`` does (torch/utils/data/distributed.py)."""
    walk.emit(EpochSet, node, target=lower(sampler), value=lower(value))


def _loader_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    if name == "dataset":
        return value.argument("dataset", 0)
    if name == "batch_size":
        return value.argument("batch_size", 1) or Known(1)
    if name == "sampler":
        sampler = value.argument("sampler", 3)
        if sampler is not None and not is_none(sampler):
            return sampler
        return Opaque("the loader's own sampler")
    if name == "batch_sampler":
        given = value.argument("batch_sampler", 4)
        if given is not None and not is_none(given):
            return given
        own = Opaque("the loader's own batch sampler")
        own.attributes["sampler"] = [(frozenset(), _loader_attribute(walk, value, "sampler", node) or NONE)]
        return own
    return None


def _sampler_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    positions = {"sampler": 0, "dataset": 0, "data_source": 0, "num_replicas": 1, "rank": 2}
    return value.argument(name, positions[name]) if name in positions else None


def _subset_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    positions = {"dataset": 0, "indices": 1}
    return value.argument(name, positions[name]) if name in positions else None


def _part_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    return value.argument("dataset", 0) if name == "dataset" else None


FUNCTIONS = {
    LOADER: _loader,
    "torchdata.stateful_dataloader.StatefulDataLoader": _loader,
    "monai.data.DataLoader": _loader,
    "monai.data.ThreadDataLoader": _loader,
    "monai.data.DistributedSampler": _monai_sampler,
    "torch_geometric.loader.DataLoader": _loader,
    DISTRIBUTED_SAMPLER: _sampler,
    "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler": _sampler,
    "timm.data.distributed_sampler.OrderedDistributedSampler": _ordered_sampler,
    "timm.data.distributed_sampler.RepeatAugSampler": _repeating_sampler,
    "torch.utils.data.RandomSampler": _plain_sampler,
    "torch.utils.data.SequentialSampler": _plain_sampler,
    "torch.utils.data.WeightedRandomSampler": _plain_sampler,
    "torch.utils.data.SubsetRandomSampler": _plain_sampler,
    "torch.utils.data.BatchSampler": _plain_sampler,
    "torch.utils.data.random_split": _random_split,
    "torch.utils.data.Subset": _dataset,
    "torch.utils.data.ConcatDataset": _dataset,
    "torch.utils.data.TensorDataset": _dataset,
}
PREFIXES = dict.fromkeys(("torchvision.datasets.", "torchaudio.datasets.", "medmnist."), _downloading_dataset)
METHODS = {"set_epoch": _set_epoch}
ATTRIBUTES = {
    LOADER: _loader_attribute,
    DISTRIBUTED_SAMPLER: _sampler_attribute,
    "torch.utils.data.BatchSampler": _sampler_attribute,
    "torch.utils.data.Subset": _subset_attribute,
    "torch.utils.data.random_split": _part_attribute,
}

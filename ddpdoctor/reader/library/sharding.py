"""What divides a loader's data between the ranks: a sampler, a data set, or something that was not followed."""

from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Choice, Items, Opaque, Table, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.datasets import attributes_drawn_from, goes_its_own_way
from ddpdoctor.reader.library.kinds import DISTRIBUTED_SAMPLER, RANK_AWARE
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk


def sharded_by(walk: Walk, call: Call, given: "dict[str, Abstract | None]") -> str | None:
    """Name what divides the data by rank, or ``unknown`` where something that was not followed may."""
    for name in ("sampler", "batch_sampler"):
        for _, option in options(given[name] or NONE):
            if not is_none(option) and divides(walk, option):
                return f"the {name.replace('_', ' ')}"
    if "rank" in call.kwargs.get("generator", NONE).tags:
        return "the generator"
    dataset = given["dataset"]
    if dataset is None:
        return "unknown"
    if any(divides(walk, option) for _, option in options(dataset)):
        return "the dataset"
    if goes_its_own_way(walk, dataset, call.kwargs.get("worker_init_fn")):
        return "unknown"
    if call.open and given["sampler"] is None:
        return "unknown"
    if all(_is_unknown(option) for _, option in options(dataset)):
        return "unknown"
    worker = call.kwargs.get("worker_init_fn")
    return "unknown" if worker is not None and not is_none(worker) and "rank" in worker.tags else None


def _is_unknown(dataset: Abstract) -> bool:
    """Whether nothing is known of a dataset: it came from somewhere that was not followed, or is a plain range."""
    return isinstance(dataset, (Opaque, Attribute)) or (isinstance(dataset, Made) and dataset.path == "builtins.range")


def divides(walk: Walk, value: Abstract, depth: int = 0) -> bool:
    """Whether a sampler or dataset deals the samples out to the ranks, as far as can be seen."""
    if isinstance(value, Choice):
        return any(divides(walk, option, depth) for _, option in options(value))
    if "shard" in value.tags or "rank" in value.tags:
        return True
    if isinstance(value, Made):
        if value.path in RANK_AWARE or "istributed" in value.path.rpartition(".")[2]:
            return not _deals_to_all_alike(value)
        return depth < 4 and any(divides(walk, arg, depth + 1) for arg in (*value.args, *value.kwargs.values()))
    if isinstance(value, Object):
        if walk.syntax.mentions_rank(value.cls):
            return True
        names = attributes_drawn_from(walk, value)
        held = [cell[-1][1] for name, cell in value.attributes.items() if names is None or name in names]
        return depth < 4 and any(
            divides(walk, item, depth + 1)
            for item in held
            if isinstance(item, (Made, Object, Opaque, Items, Table, Choice))
        )
    if isinstance(value, Items):
        return depth < 4 and any(divides(walk, item, depth + 1) for item in value.items[:8])
    if isinstance(value, Table):
        held = [cell[-1][1] for cell in list(value.cells.values())[:8]]
        return depth < 4 and any(divides(walk, item, depth + 1) for item in held)
    if isinstance(value, (Opaque, Attribute)):
        return depth == 0  # a sampler from somewhere that was not followed
    return False


def _deals_to_all_alike(sampler: Made) -> bool:
    """Whether a DistributedSampler is told one replica, or the same rank wherever it is: every rank gets that part."""
    if sampler.path != DISTRIBUTED_SAMPLER:
        return False
    rank = known(sampler.argument("rank", 2))
    return known(sampler.argument("num_replicas", 1)) == 1 or isinstance(rank, int)

"""Which loaders train a wrapped model while nothing divides their data between the ranks."""

from collections.abc import Iterator, Mapping

from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.events import Backward, EpochBegun, Forward, LoaderBuilt, Seeded
from ddpdoctor.facts import default_of, given_to_unknown_code, in_group, loaders, owned, replicas, training_backwards
from ddpdoctor.facts.ranks import for_some_ranks_only, runs_distributed
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Ref, truth

RANDOM = frozenset(
    f"torch.utils.data.{name}" for name in ("RandomSampler", "WeightedRandomSampler", "SubsetRandomSampler")
)
"""Samplers that draw with the default generator of their process."""


def undivided(trace: Predicted) -> Iterator[tuple[LoaderBuilt, Backward]]:
    """Yield the loaders whose batches train a wrapped model and that nothing divides between the ranks."""
    if owned(trace, "sampler"):
        return
    built = loaders(trace)
    for loader, backward in training_backwards(trace).items():
        event = built.get(loader)
        if event is None or event.sharded_by is not None or for_some_ranks_only(event):
            continue
        wraps = [wrap for wrap in replicas(trace) if wrap.process == event.process]
        if not wraps or not any(compatible(wrap.when, event.when) for wrap in wraps):
            continue
        if _is_alone(trace, event) or _is_for_no_group(trace, event):
            continue
        if _sharded_otherwise(trace, event, built) or given_to_unknown_code(trace, backward, event):
            continue
        if event.by_hand in GENERATORS and not _seeded_alike(trace, event):
            continue
        if backward.own_part or not _trains_wrapped(trace, backward) or _seeded_by_rank(trace, event):
            continue
        yield event, backward


GENERATORS = ("torch", "numpy", "random")
"""The packages whose own generators draw batches by hand (:class:`ddpdoctor.events.LoaderBuilt`)."""


def _seeded_alike(trace: Predicted, event: LoaderBuilt) -> bool:
    """Whether the generator that draws the batches is surely given one seed on every rank, where it is not by itself.

    One that nobody seeds draws other numbers in each process, and so does one of a process that another spawned.
    """
    return any(
        seed.process == event.process
        and (seed.by.startswith(f"{event.by_hand}.") or not seed.by.startswith(GENERATORS))
        and (seed.when <= event.when or holds_by_default(as_formula(seed.when - event.when)) is True)
        for seed in trace.before(event, Seeded)
    )


def _is_alone(trace: Predicted, event: LoaderBuilt) -> bool:
    """Whether each group that a loader can be used with is one of a single process."""
    inits = list(in_group(trace, event))
    return bool(inits) and all(default_of(init.world_size) == 1 for init in inits)


def _is_for_no_group(trace: Predicted, event: LoaderBuilt) -> bool:
    """Whether a loader is only made where there is no group of several ranks, though one was initialised before."""
    return not runs_distributed(event) and any(init.order < event.order for init in in_group(trace, event))


def _trains_wrapped(trace: Predicted, backward: Backward) -> bool:
    forwards = {event.order: event for event in trace.of(Forward)}
    return any(forwards[order].via == "wrapper" for order in backward.forwards if order in forwards)


def _sharded_otherwise(trace: Predicted, event: LoaderBuilt, built: Mapping[Ref, LoaderBuilt]) -> bool:
    """Whether the loop that trains on a loader goes over a sharded one on another path."""
    loops = {begun.place for begun in trace.of(EpochBegun) if begun.loader == event.loader}
    others = (built.get(begun.loader) for begun in trace.of(EpochBegun) if begun.place in loops)
    return any(other is not None and other.sharded_by is not None for other in others)


def _seeded_by_rank(trace: Predicted, event: LoaderBuilt) -> bool:
    """Whether each rank shuffles in an order of its own: random batches, deliberately."""
    by_itself = isinstance(event.sampler, Ref) and event.sampler.type in RANDOM
    shuffles = by_itself or truth(event.shuffle) is not False
    return shuffles and any("rank" in seed.value.taint for seed in trace.before(event, Seeded))

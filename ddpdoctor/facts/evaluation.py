"""What several checks ask of evaluation: which loaders only evaluate, and which of them are dealt out to the ranks."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition
from ddpdoctor.condition import compatible, literals
from ddpdoctor.events import (
    Collective,
    EpochBegun,
    Event,
    Forward,
    LoaderBuilt,
    LoaderHandedOver,
    OptimizerStep,
    Reported,
)
from ddpdoctor.facts import loaders, training_backwards
from ddpdoctor.facts.ranks import can_hold_among_ranks, runs_distributed
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Ref, alternatives


def evaluated(trace: Predicted) -> dict[Ref, LoaderBuilt]:
    """Return the loaders that a model is evaluated on and never trained on."""
    trained = set(training_backwards(trace))
    for step in trace.of(OptimizerStep):
        trained.update(_around(step))
    found: set[Ref] = set()
    for forward in trace.of(Forward):
        if not forward.grad or forward.training is False:
            found.update((*_around(forward), *forward.batches))
    for begun in trace.of(EpochBegun):
        if begun.is_within("no_grad"):
            found.add(begun.loader)
    return {loader: event for loader, event in loaders(trace).items() if loader in found - trained}


def _around(event: Event) -> Iterator[Ref]:
    for loop in event.loops:
        yield from loop.loaders


def is_in_a_loop_over(event: Event, loader: Ref) -> bool:
    """Whether an event happens while a loader is gone through."""
    return loader in _around(event)


def dealt_out(loader: LoaderBuilt) -> Iterator[Condition]:
    """Yield the conditions under which each rank gets a part of a loader's data by a sampler."""
    if loader.cut_by_rank:
        yield loader.when
    if loader.sharded_by not in ("the sampler", "the batch sampler"):
        return
    for given in (loader.sampler, loader.batch_sampler):
        for when, value in alternatives(given, loader.when) if given is not None else ():
            if isinstance(value, Ref):
                yield when


def is_dealt_out_to(trace: Predicted, event: Event, loader: LoaderBuilt) -> bool:
    """Whether each rank has only a part of a loader's data when an event happens."""
    if not runs_distributed(event):
        return False
    by_framework = handed_over(trace, loader)
    if by_framework is not None and by_framework.order < event.order and compatible(by_framework.when, event.when):
        return True
    return any(compatible(when, event.when) for when in dealt_out(loader))


def handed_over(trace: Predicted, loader: LoaderBuilt) -> LoaderHandedOver | None:
    """Return where a framework is given a loader whose batches it deals out."""
    return next((event for event in trace.of(LoaderHandedOver) if event.loader == loader.loader), None)


def decided_by(event: Event) -> frozenset[object]:
    """Return the loaders of whose batches a rank's own decide whether an event happens, where there are several ranks.

    A test that is there for a run without a group, where nothing is to be put together, decides nothing among ranks.
    """
    deciding = literals(event.when, within=can_hold_among_ranks)
    return frozenset(loader for literal in deciding for loader in literal.atom.measured)


def is_put_together(trace: Predicted, loader: Ref) -> bool:
    """Whether any collective gets what ranks computed from their batches of a loader."""
    return any(loader in event.loaders for event in trace.of(Collective))


def final(trace: Predicted, loader: Ref) -> Iterator[Reported]:
    """Yield the reports on a loader's data that are made when it has been gone through."""
    for event in trace.of(Reported):
        if loader in (*event.loaders, *event.added) and not is_in_a_loop_over(event, loader):
            yield event

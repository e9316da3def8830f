"""A number of one rank's part of the evaluation data that is taken for the number of all of it."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import (
    Collective,
    EpochBegun,
    Event,
    FileUsed,
    LoaderBuilt,
    LoaderHandedOver,
    Reported,
    Seeded,
)
from ddpdoctor.facts import in_group, is_distributed, loaders, training_backwards
from ddpdoctor.facts.evaluation import (
    decided_by,
    evaluated,
    final,
    handed_over,
    is_dealt_out_to,
    is_in_a_loop_over,
    is_put_together,
)
from ddpdoctor.facts.ranks import runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Ref, alternatives, truth

WAITS = frozenset({"barrier", "monitored_barrier", "broadcast", "broadcast_object_list"})
"""Collectives that put nothing together."""
MAX_LABELS = 3


def own_part_taken_for_all(trace: Predicted) -> Iterator[Fault]:
    """Find the evaluations of dealt-out data whose numbers are used with nothing between that reduces them."""
    seen: set[Place] = set()
    for event in trace.of(Reported):
        if event.how == "epoch" and event.place not in seen:
            seen.add(event.place)
            yield _logged_by_lightning(event)
    if not is_distributed(trace) and not trace.of(LoaderHandedOver):
        return
    yield from _steered_by_own_batches(trace, seen)
    whole = [event for event in trace.of(Reported) if not event.loaders]
    for loader, built in evaluated(trace).items():
        steering = [event for event in _steered(trace, loader) if is_dealt_out_to(trace, event, built)]
        told = [
            event for event in final(trace, loader) if loader in event.loaders and is_dealt_out_to(trace, event, built)
        ]
        told = [event for event in told if not any(_is_one_line(event, other) for other in whole)]
        if is_put_together(trace, loader):
            told = [event for event in told if not event.names_rank]
        certain = bool(steering or told)
        uses: list[Event] = [*steering, *told] or list(_told_in_passing(trace, loader, built))
        if not uses or uses[0].place in seen:
            continue
        seen.add(uses[0].place)
        yield _fault(
            trace, built, uses, steers=bool(steering), confidence=Confidence.HIGH if certain else Confidence.MEDIUM
        )


def _steered_by_own_batches(trace: Predicted, seen: set[Place]) -> Iterator[Fault]:
    """Find the learning rates that each rank sets by the loss of the batches that it has trained on."""
    built = loaders(trace)
    for loader in training_backwards(trace):
        for event in trace.of(Reported) if loader in built else ():
            if event.how != "schedule" or loader not in event.loaders or event.place in seen:
                continue
            if is_dealt_out_to(trace, event, built[loader]) or _draws_its_own(trace, event, built[loader]):
                seen.add(event.place)
                yield _fault(trace, built[loader], [event], steers=True, confidence=Confidence.HIGH, data="training")


def _draws_its_own(trace: Predicted, event: Event, loader: LoaderBuilt) -> bool:
    """Whether each rank draws from all of the data in an order of its own: no seed is the same for all of them."""
    shuffled = loader.shuffle is not None and any(truth(value) is True for _, value in alternatives(loader.shuffle))
    in_a_group = any(init.order < event.order for init in in_group(trace, event)) and runs_distributed(event)
    alike = any(one.process == event.process and "rank" not in one.value.taint for one in trace.of(Seeded))
    return shuffled and loader.sharded_by is None and not alike and in_a_group


def _is_one_line(event: Event, other: Event) -> bool:
    """Whether two events are one line in two ways of launching; a process that was spawned has no call above it.

    Where both happen in one run, they are two numbers of one line.
    """
    calls = event.stack[-1:], other.stack[-1:]
    if event.process == other.process and compatible(event.when, other.when):
        return False
    return event.place == other.place and (calls[0] == calls[1] or not all(calls))


def _logged_by_lightning(event: Reported) -> Fault:
    return Fault(
        place=event.place,
        message="Lightning logs the mean over rank 0's part of the evaluation data: sync_dist is not set",
        event=event,
        fix=Fix(description="log it with sync_dist=True, or log an object of torchmetrics"),
    )


def _steered(trace: Predicted, loader: Ref) -> Iterator[Event]:
    """Yield what a rank's own number decides: its learning rate, or which checkpoint is the best."""
    for event in final(trace, loader):
        if event.how == "schedule" and loader in event.loaders:
            yield event
    for used in trace.of(FileUsed):
        if used.op == "save" and loader in decided_by(used):
            yield used


def _told_in_passing(trace: Predicted, loader: Ref, built: LoaderBuilt) -> Iterator[Event]:
    """Yield the reports on single batches, where no more is ever said of a loader and no rank asks another."""
    if any(True for _ in final(trace, loader)):
        return
    begun = min((event.order for event in trace.of(EpochBegun) if event.loader == loader), default=built.order)
    reduced = (event for event in trace.of(Collective) if event.origin == "user" and event.op not in WAITS)
    asked = [event for event in reduced if event.order > begun]
    for event in trace.of(Reported) if not asked else ():
        if loader in event.loaders and is_in_a_loop_over(event, loader) and is_dealt_out_to(trace, event, built):
            yield event


def _fault(
    trace: Predicted,
    built: LoaderBuilt,
    uses: list[Event],
    *,
    steers: bool,
    confidence: Confidence,
    data: str = "evaluation",
) -> Fault:
    first = uses[0]
    others = dict.fromkeys(event.place for event in uses[1:] if event.place != first.place)
    return Fault(
        place=first.place,
        message=_message(first, data),
        severity=Severity.ERROR if steers else None,
        confidence=confidence,
        places=(
            Label(place=_sampler(trace, built), text="dealt out to the ranks here" if built.sharded_by else "its data"),
            *(Label(place=place, text="used here too") for place in list(others)[:MAX_LABELS]),
        ),
        about=built.loader,
        event=first,
        fix=Fix(
            description="dist.all_reduce the sums and the counts before they are divided, or gather the predictions"
        ),
    )


def _sampler(trace: Predicted, built: LoaderBuilt) -> Place:
    by_framework = handed_over(trace, built)
    if by_framework is not None:
        return by_framework.place
    return built.distributed_samplers[0].place if built.distributed_samplers else built.place


def _message(use: Event, data: str) -> str:
    if isinstance(use, FileUsed):
        return "which checkpoint is the best is decided by one rank's part of the evaluation data: nothing reduces it"
    assert isinstance(use, Reported)
    if use.how == "schedule":
        return f"each rank sets its learning rate by its own part of the {data} data: the replicas drift apart"
    does = "printed" if use.how == "print" else "logged"
    return f"the number {does} here is of one rank's part of the evaluation data, not of all: nothing reduces it"


CHECK = Check(
    name="unreduced-metric",
    summary="an evaluation is split over the ranks, and the number of one rank's part is taken for all of it",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(Reported, FileUsed),
    predict=own_part_taken_for_all,
)

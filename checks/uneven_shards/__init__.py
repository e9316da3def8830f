"""Ranks that cut their own parts out of the data, so that some have a batch more than others."""

from collections import Counter
from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Backward, Blocked, EpochBegun, Forward, Loop, Raised
from ddpdoctor.facts import loaders, owned, replicas
from ddpdoctor.facts.ranks import runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached
from ddpdoctor.join import same_object, seen_at
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Ref


def some_ranks_have_a_batch_more(trace: Predicted) -> Iterator[Fault]:
    """Find the training loops over data that was cut by rank, and neither trimmed nor padded nor within a Join."""
    if owned(trace, "sampler"):
        return
    built, seen, told = loaders(trace), set[Ref](), set[Place]()
    forwards = {event.order: event for event in trace.of(Forward)}
    for backward in trace.of(Backward):
        if any(loop.kind == "while" for loop in backward.loops):
            continue  # until a number of steps is reached, which all ranks count alike
        if backward.is_within("join") or not _is_of_a_replica(trace, backward, forwards):
            continue
        through = [loop for loop in backward.loops if loop.rounds is None and not loop.left_early]
        for loop in through:
            if loop.cut is not None and loop.place not in told:
                told.add(loop.place)
                yield _by_hand(loop, loop.cut, backward)
        for loader in (one for loop in through for one in loop.loaders):
            event = built.get(loader)
            if event is None or event.cut is None or loader in seen or not compatible(event.when, backward.when):
                continue
            seen.add(loader)
            yield Fault(
                place=event.place,
                message="some ranks can get a sample more of this data, and so a batch: they wait in backward()",
                confidence=Confidence.MEDIUM,
                places=(
                    Label(place=event.cut, text="cut by rank here"),
                    Label(place=backward.place, text="trained on here"),
                ),
                about=loader,
                event=event,
                fix=Fix(description="cut the data to a multiple of the number of ranks, or train within Join"),
            )


def _by_hand(loop: Loop, cut: Place, backward: Backward) -> Fault:
    """Return the fault of a loop that goes through a rank's own part without a loader."""
    return Fault(
        place=loop.place,
        message="some ranks can have a round more of this loop: they wait in backward() for those that have not",
        confidence=Confidence.MEDIUM,
        places=(
            *((Label(place=cut, text="cut by rank here"),) if cut.spot() != loop.place.spot() else ()),
            Label(place=backward.place, text="trained on here"),
        ),
        event=backward,
        fix=Fix(description="cut the data to a multiple of the number of ranks, or train within Join"),
    )


def _is_of_a_replica(trace: Predicted, backward: Backward, forwards: dict[int, Forward]) -> bool:
    wraps = any(wrap.process == backward.process for wrap in replicas(trace))
    through = any(forwards[order].via == "wrapper" for order in backward.forwards if order in forwards)
    return wraps and through and runs_distributed(backward)


def ranks_have_other_numbers_of_batches(fault: Fault, run: Observed) -> Verdict:
    """Compare how many batches an epoch of the loader has on each rank."""
    if fault.about is None:
        return _ranks_came_unequally_often(fault, run)
    refs = same_object(fault.about, {event.loader for event in run.of(EpochBegun)})
    begun = {event.rank: event for event in reversed(run.of(EpochBegun)) if event.loader in refs}
    lengths = {rank: begun[rank].length for rank in run.ranks if rank in begun}
    if len(lengths) < len(run.ranks) or None in lengths.values():
        return not_reached("not every rank came to this loader, or its length cannot be told")
    evidence = {f"rank {rank}": length for rank, length in lengths.items()}
    if len(set(lengths.values())) == 1:
        return not_reached(
            f"with this data and {len(lengths)} ranks each has {lengths[run.ranks[0]]} batches", **evidence
        )
    consequences = (*run.of(Blocked), *(event for event in run.of(Raised) if event.caused_by_peer))
    return confirmed("an epoch has more batches on some ranks than on others", *consequences, **evidence)


def _ranks_came_unequally_often(fault: Fault, run: Observed) -> Verdict:
    """Compare how often each rank came to the backward of a loop that has no loader."""
    assert fault.event is not None
    came = Counter(event.rank for event in seen_at(run.of(Backward), fault.event.place))
    line = fault.event.place.spot()
    came.update(event.rank for event in run.of(Blocked) if event.place.spot() == line)  # on the way into it
    times = [came[rank] for rank in run.ranks]
    waiting = (*run.of(Blocked), *(event for event in run.of(Raised) if event.caused_by_peer))
    if len(set(times)) < 2 or not waiting:
        return not_reached("the ranks came to this loop's backward equally often, as far as they were watched")
    return confirmed("some ranks came to this loop's backward more often than others", *waiting, times=times)


CHECK = Check(
    name="uneven-shards",
    summary="each rank cuts its own part out of the data, and some have a batch more: they wait for ever",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(Backward,),
    predict=some_ranks_have_a_batch_more,
    judge=ranks_have_other_numbers_of_batches,
)

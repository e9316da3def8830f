"""A shuffling DistributedSampler that is never told the epoch: the same order every time."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import EpochBegun, EpochEnded, EpochSet, Loop, SamplerBuilt
from ddpdoctor.facts import default_of, given_to_unknown_code, loaders, owned, samplers, training_backwards
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import same_object
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Ref, alternatives, truth

SHOWN = 8
"""How many indices of an epoch the evidence lists."""


def same_order_every_epoch(trace: Predicted) -> Iterator[Fault]:
    """Find the training loaders that are gone through several times while nothing tells their sampler the epoch."""
    if owned(trace, "epoch") or owned(trace, "sampler"):
        return
    built, known, trained = loaders(trace), samplers(trace), training_backwards(trace)
    for event in trace.of(EpochBegun):
        loader = built.get(event.loader)
        outer = [loop for loop in event.loops if _has_several_rounds(loop)]
        if loader is None or event.loader not in trained or not outer or given_to_unknown_code(trace, event, loader):
            continue
        for ref in loader.distributed_samplers:
            sampler = known.get(ref)
            if sampler is not None and _shuffles(sampler) and not _told(trace, event, ref, outer):
                yield _fault(event, sampler)
                break


def _has_several_rounds(loop: Loop) -> bool:
    if loop.kind == "comprehension":
        return False
    return loop.rounds is None or default_of(loop.rounds) != 1


def _shuffles(sampler: SamplerBuilt) -> bool:
    if sampler.shuffle is None:
        return True
    return any(truth(value) is True or default_of(value) is True for _, value in alternatives(sampler.shuffle))


def _told(trace: Predicted, event: EpochBegun, sampler: Ref, outer: list[Loop]) -> bool:
    """Whether something in the loop over the epochs tells the sampler a number that changes."""
    around = {loop.place for loop in outer}
    for told in trace.of(EpochSet):
        if told.process != event.process or not compatible(told.when, event.when):
            continue
        targets = [value for _, value in alternatives(told.target)]
        if all(isinstance(target, Ref) and target not in (sampler, event.loader) for target in targets):
            continue
        if not around & {loop.place for loop in told.loops}:
            continue
        if not isinstance(told.value, Constant):
            return True
    return False


def _fault(event: EpochBegun, sampler: SamplerBuilt) -> Fault:
    return Fault(
        place=event.place,
        message="the DistributedSampler is never told the epoch: every epoch has the same order on every rank",
        places=(Label(place=sampler.place, text="the sampler"),),
        about=event.loader,
        event=event,
        fix=Fix(description="call sampler.set_epoch(epoch) before this loop, in the loop over the epochs"),
    )


def epochs_had_the_same_order(fault: Fault, run: Observed) -> Verdict:
    """Compare the order of two epochs of the same loader on one rank."""
    assert fault.about is not None
    rank = run.ranks[0]
    refs = same_object(fault.about, {event.loader for event in run.on(rank, EpochBegun)})
    stepped = {(event.loader, event.number) for event in run.on(rank, EpochEnded) if event.steps}
    begun = [
        event for event in run.on(rank, EpochBegun) if event.loader in refs and (event.loader, event.number) in stepped
    ]
    if len(begun) < 2:
        return not_reached(f"fewer than two epochs of this loader were seen ({len(begun)})")
    first, second = begun[0], begun[1]
    if first.indices is None or second.indices is None:
        return not_reached("the order of its samples cannot be read (an iterable data set)")
    if len(set(first.indices)) < 2:
        return not_reached("an epoch has one sample: it has no order")
    orders = {"epoch 1": list(first.indices[:SHOWN]), "epoch 2": list(second.indices[:SHOWN]), "rank": rank}
    if list(first.indices) == list(second.indices):
        return confirmed(f"epochs 1 and 2 drew the same {len(first.indices)} samples in the same order", **orders)
    return refuted("the second epoch had another order than the first", **orders)


CHECK = Check(
    name="missing-set-epoch",
    summary="a shuffling DistributedSampler is never told the epoch: the same order every epoch",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(SamplerBuilt,),
    predict=same_order_every_epoch,
    judge=epochs_had_the_same_order,
)

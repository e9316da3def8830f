"""A shuffling DistributedSampler that is never told the epoch: the same order every time."""

from collections.abc import Iterator, Sequence

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible, together
from ddpdoctor.events import EpochBegun, EpochEnded, EpochSet, GroupInit, LoaderBuilt, Loop, SamplerBuilt
from ddpdoctor.facts import default_of, given_to_unknown_code, loaders, owned, samplers, training_backwards
from ddpdoctor.facts.ranks import leave_ranks_out
from ddpdoctor.facts.rounds import number_in
from ddpdoctor.finding import Fault, Fix, Label, Severity, State, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import same_object
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Ref, Symbol, alternatives, truth

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
            if sampler is None or not _shuffles(trace, sampler, event) or _seeded_anew(sampler, outer):
                continue
            if event.is_within("except") and any(_is_told(one, event, ref) and one.loops for one in trace.of(EpochSet)):
                continue  # batches are skipped, and the data ran out meanwhile; where it trains it is told
            calls = list(_told(trace, event, ref, outer))
            told = [one for one in calls if not isinstance(one.value, Constant)]
            if not told and len({one.value for one in calls}) == 1:
                yield _same_number_fault(event, sampler, outer[0], calls[0])
                break
            if not told or leave_ranks_out(told, among=event):
                yield _fault(event, sampler, outer[0], told)
                break
            if all(_comes_late(one, event, outer) for one in told):
                yield _late_fault(event, sampler, told)
                break


def _has_several_rounds(loop: Loop) -> bool:
    if loop.kind in ("comprehension", "drawing"):
        return False
    return not isinstance(loop.rounds, Constant) or loop.rounds.value != 1


def _shuffles(trace: Predicted, sampler: SamplerBuilt, event: EpochBegun) -> bool:
    """Whether a sampler shuffles in a run that begins this epoch and has the process group that it asks for."""
    if sampler.shuffle is None:
        return True
    groups = [one.when for one in trace.of(GroupInit)] if sampler.replicas is None else []
    for condition, value in alternatives(sampler.shuffle):
        if truth(value) is True or default_of(value) is True:
            here = together(condition, event.when)
            if here is not None and (not groups or any(compatible(here, group) for group in groups)):
                return True
    return False


def _seeded_anew(sampler: SamplerBuilt, outer: list[Loop]) -> bool:
    """Whether a sampler is made in the loop over the epochs with a seed that changes: it needs no epoch."""
    inside = {loop.place for loop in sampler.loops} & {loop.place for loop in outer}
    return bool(inside) and sampler.seed is not None and not isinstance(sampler.seed, Constant)


def _told(trace: Predicted, event: EpochBegun, sampler: Ref, outer: list[Loop]) -> Iterator[EpochSet]:
    """Yield what in the loop over the epochs tells the sampler a number, one that changes or not."""
    around = {loop.place for loop in outer}
    for told in trace.of(EpochSet):
        if _is_told(told, event, sampler) and around & {loop.place for loop in told.loops}:
            yield told


def _is_told(told: EpochSet, event: EpochBegun, sampler: Ref) -> bool:
    """Whether a number can be for this sampler, in a run that begins this epoch."""
    if told.process != event.process or not compatible(told.when, event.when):
        return False
    targets = [value for _, value in alternatives(told.target)]
    return not all(isinstance(target, Ref) and target not in (sampler, event.loader) for target in targets)


def _comes_late(told: EpochSet, event: EpochBegun, outer: list[Loop]) -> bool:
    """Whether the first number comes when the first epoch's order is drawn, and is the one that it was drawn with."""
    if told.order < event.order or not isinstance(told.value, Symbol) or told.value.expression is None:
        return False
    counted = told.value.expression
    return any(number_in(counted, loop, 0) == 0 and number_in(counted, loop, 1) == 1 for loop in outer)


def _late_fault(event: EpochBegun, sampler: SamplerBuilt, told: Sequence[EpochSet]) -> Fault:
    """Say what set_epoch does after ``iter()``: the next epoch is the first to have it."""
    late = "the DistributedSampler is told the epoch only after the epoch's order was drawn: the first two epochs have"
    return Fault(
        place=told[0].place,
        message=f"{late} the same order on every rank, and each later one the order that was meant for the one before",
        places=(
            Label(place=event.place, text="the order is drawn here"),
            Label(place=sampler.place, text="the sampler"),
        ),
        about=event.loader,
        event=event,
        fix=Fix(description="call sampler.set_epoch(epoch) before this loop over the batches"),
    )


def _same_number_fault(event: EpochBegun, sampler: SamplerBuilt, epochs: Loop, told: EpochSet) -> Fault:
    """Say that the sampler is told a number that is written there, in every epoch the same."""
    same = f"the DistributedSampler is told the same epoch each time ({told.value.text()})"
    never = _fault(event, sampler, epochs)
    return never.with_(
        message=f"{same}: every epoch has the same order on every rank",
        places=(Label(place=told.place, text="told here"), *never.places),
        fix=Fix(description="give set_epoch the number of the epoch: sampler.set_epoch(epoch)"),
    )


def _fault(
    event: EpochBegun, sampler: SamplerBuilt, epochs: Loop | None = None, told: Sequence[EpochSet] = ()
) -> Fault:
    partly = "only some ranks tell their DistributedSampler the epoch: they deal from different orders, so that"
    never = "the DistributedSampler is never told the epoch: every epoch has the same order on every rank"
    return Fault(
        place=event.place,
        message=f"{partly} samples are drawn twice or never" if told else never,
        places=(
            Label(place=sampler.place, text="the sampler"),
            *(
                Label(place=loop.place, text="the loop over the epochs")
                for loop in (epochs,)
                if loop is not None and loop.place != event.place
            ),
            *(Label(place=one.place, text="told on some ranks only") for one in told),
        ),
        about=event.loader,
        event=event,
        fix=Fix(description="call sampler.set_epoch(epoch) before this loop, in the loop over the epochs"),
    )


def epochs_had_the_same_order(fault: Fault, run: Observed) -> Verdict:
    """Compare the order of two epochs of the same loader on each rank: one that repeats it is enough."""
    assert fault.about is not None
    verdicts = [_compared(_epochs(run, rank, fault.about), rank) for rank in run.ranks]
    return next((verdict for verdict in verdicts if verdict.state is State.CONFIRMED), verdicts[0])


def _compared(begun: list[EpochBegun], rank: int) -> Verdict:
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


def _epochs(run: Observed, rank: int, loader: Ref) -> list[EpochBegun]:
    """Return the epochs of training of a loader, or of those that are made anew for each epoch in its place."""
    stepped = {(event.loader, event.number) for event in run.on(rank, EpochEnded) if event.steps}
    trained = [event for event in run.on(rank, EpochBegun) if (event.loader, event.number) in stepped]
    refs = same_object(loader, {event.loader for event in run.on(rank, EpochBegun)})
    of_it = [event for event in trained if event.loader in refs]
    if len(of_it) != 1:
        return of_it
    return [event for event in trained if event is of_it[0] or _follows(run, event, of_it[0])]


def _follows(run: Observed, event: EpochBegun, first: EpochBegun) -> bool:
    """Whether an epoch is one of a loader of the same data, made in the same place after the first one's only epoch."""
    made = {one.loader: one for one in run.on(first.rank or 0, LoaderBuilt)}
    one, other = made.get(first.loader), made.get(event.loader)
    if one is None or other is None or one is other or (event.place, event.stack) != (first.place, first.stack):
        return False
    same_place = (one.place, one.stack) == (other.place, other.stack)
    return same_place and one.dataset == other.dataset and first.order < other.order < event.order


def shuffled_alike(run: Observed) -> Iterator[Fault]:
    """Report the loaders whose DistributedSampler was to shuffle and dealt each rank the same order in two epochs."""
    if any(owned(program, duty) for program in run.predicted for duty in ("epoch", "sampler")):
        return
    dealt = {event.loader: event.sampler for event in run.of(LoaderBuilt) if event.rank == run.ranks[0]}
    shuffling = {event.sampler for event in run.of(SamplerBuilt) if event.replicas and truth(event.shuffle) is True}
    for loader in dict.fromkeys(event.loader for event in run.on(run.ranks[0], EpochBegun)):
        if dealt.get(loader) not in shuffling:
            continue
        epochs = [_epochs(run, rank, loader) for rank in run.ranks]
        verdicts = [_compared(begun, rank) for begun, rank in zip(epochs, run.ranks, strict=True)]
        one_loop = len({(event.place, event.stack) for begun in epochs for event in begun[:2]}) == 1
        if one_loop and all(verdict.state is State.CONFIRMED for verdict in verdicts):
            sampler = next(event for event in run.of(SamplerBuilt) if event.sampler == dealt[loader])
            yield _fault(epochs[0][0], sampler).with_(about=loader, verdict=verdicts[0])


CHECK = Check(
    name="missing-set-epoch",
    summary="a shuffling DistributedSampler is never told the epoch: the same order every epoch",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(SamplerBuilt,),
    predict=same_order_every_epoch,
    judge=epochs_had_the_same_order,
    observe=shuffled_alike,
)

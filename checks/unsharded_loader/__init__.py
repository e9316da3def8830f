"""A training loader that deals every rank all of the data."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import IN_ORDER, Backward, EpochBegun, EpochEnded, Forward, LoaderBuilt, Seeded
from ddpdoctor.facts import owned
from ddpdoctor.facts.undivided import undivided
from ddpdoctor.finding import Fault, Fix, Label, Severity, State, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import same_object
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Ref

SHOWN = 8
"""How many shared indices the evidence lists."""
UNDIVIDED = 0.5
"""From this share on two ranks draw from the same data. What is divided shares the samples that fill it up at its end:
DistributedSampler repeats fewer than it has ranks, one that fills up whole batches a few more."""


def every_rank_draws_everything(trace: Predicted) -> Iterator[Fault]:
    """Find the loaders whose samples train on every rank; streams are ``unsharded-iterable-dataset``'s."""
    for event, backward in undivided(trace):
        if event.iterable:
            continue
        message, fix = _said_of(event)
        yield Fault(
            place=event.place,
            message=message,
            places=(Label(place=backward.place, text="trained on here"),),
            about=event.loader,
            event=event,
            fix=Fix(description=fix),
        )


def _said_of(event: LoaderBuilt) -> tuple[str, str]:
    """Return what is wrong with a loader, or with batches that are taken by hand, and how to mend it."""
    if event.by_hand is None:
        return ONE_PART if event.distributed_samplers else NO_PART, SAMPLER
    return (SAME_PLACE, EVERY_NTH) if event.by_hand == IN_ORDER else (SAME_SEED, RANK_IN_SEED)


NO_PART = "nothing deals this loader's samples out to the ranks: each trains on all of them every epoch"
ONE_PART = "this loader's sampler is told the same rank or one replica on every rank: all train on the same samples"
SAME_PLACE = "these batches begin at the same position on every rank: all train on the same samples in the same order"
SAME_SEED = "every rank seeds its generator alike and draws the same batches: all train on the same samples"
SAMPLER = "give it sampler=DistributedSampler(dataset), and shuffle=False"
EVERY_NTH = "begin at rank * the size of a batch, and go on by world size * that size"
RANK_IN_SEED = "add the rank to the seed"


def ranks_shared_samples(fault: Fault, run: Observed) -> Verdict:
    """Compare the samples of a whole epoch, on two ranks."""
    assert fault.about is not None
    if isinstance(fault.event, LoaderBuilt) and fault.event.by_hand is not None:
        return ranks_got_the_same(run)
    begun = _epochs_of_training(run, fault.about)
    if begun is None:
        return not_reached("the loader was not iterated while optimiser steps were taken")
    first, second = begun
    if first.indices is None or second.indices is None:
        return not_reached("the order of its samples cannot be read (an iterable data set)")
    shared = sorted(set(first.indices) & set(second.indices))
    smaller = min(len(set(first.indices)), len(set(second.indices)))
    evidence = {"shared": len(shared), "of": smaller, "indices": shared[:SHOWN], "ranks": [first.rank, second.rank]}
    ranks = f"ranks {first.rank} and {second.rank}"
    if not shared:
        return refuted(f"{ranks} share no sample in a whole epoch", **evidence)
    share = len(shared) / max(smaller, 1)
    if len(shared) < len(run.ranks) or share < UNDIVIDED:
        return not_reached(f"{ranks} share {len(shared)} of {smaller} samples, which padding can explain", **evidence)
    if first.data != second.data:
        return not_reached(
            f"{ranks} hold different data: equal indices are not the same samples",
            data={f"rank {event.rank}": event.data for event in begun},
            **evidence,
        )
    if list(first.indices) == list(second.indices):
        inputs = [_first_inputs(run, event) for event in begun]
        if None not in inputs and inputs[0] != inputs[1]:
            return not_reached(
                f"{ranks} draw the same batches, and their models get different ones: something else may divide them",
                inputs={f"rank {event.rank}": given for event, given in zip(begun, inputs, strict=True)},
                **evidence,
            )
    return confirmed(f"{ranks} share {share:.0%} of the samples of an epoch", **evidence)


def ranks_got_the_same(run: Observed) -> Verdict:
    """Compare what the wrapped models of two ranks got in training, where no loader says which samples those are."""
    given = [list(_inputs(run, rank)) for rank in run.ranks[:2]]
    pairs = list(zip(*given, strict=False)) if len(given) == 2 else []
    if not pairs or any(inputs is None for pair in pairs for inputs in pair):
        return not_reached("the wrapped model was not trained on two ranks, or its inputs cannot be compared")
    same = sum(first == second for first, second in pairs)
    ranks, evidence = f"ranks {run.ranks[0]} and {run.ranks[1]}", {"same": same, "of": len(pairs)}
    if same == len(pairs):
        return confirmed(f"the models of {ranks} get the same inputs in each of {same} steps", **evidence)
    return refuted(f"the models of {ranks} get other inputs in {len(pairs) - same} of {len(pairs)} steps", **evidence)


def _first_inputs(run: Observed, begun: EpochBegun) -> str | None:
    """Return the digest of what a rank's wrapped model got first in an epoch."""
    assert begun.rank is not None
    return next(_inputs(run, begun.rank, begun.order), None)


def _inputs(run: Observed, rank: int, after: int = -1) -> Iterator[str | None]:
    """Yield the digests of what a rank's wrapped model got in training, from some event on."""
    for event in run.on(rank, Forward):
        if event.order > after and event.via == "wrapper" and event.grad and event.training:
            yield event.inputs


def _epochs_of_training(run: Observed, loader: Ref) -> tuple[EpochBegun, EpochBegun] | None:
    """Return the first epoch in which the loader fed optimiser steps, on the first two ranks."""
    found: list[EpochBegun] = []
    for rank in run.ranks[:2]:
        refs = same_object(loader, {event.loader for event in run.on(rank, EpochBegun)})
        ended = {(event.loader, event.number) for event in run.on(rank, EpochEnded) if event.steps}
        trained = [
            event
            for event in run.on(rank, EpochBegun)
            if event.loader in refs and (event.loader, event.number) in ended
        ]
        found += trained[:1]
    return (found[0], found[1]) if len(found) == 2 else None


def both_ranks_drew_everything(run: Observed) -> Iterator[Fault]:
    """Report the loaders from which two ranks trained on all of the same data, though the source did not say so."""
    if any(owned(program, "sampler") for program in run.predicted):
        return
    averaged = {event.rank for event in run.of(Backward) if event.reduced}
    if not averaged >= set(run.ranks):
        return
    for event in run.on(run.ranks[0], LoaderBuilt):
        fault = Fault(
            place=event.place,
            message="every rank trains on all of this loader's samples in each epoch",
            about=event.loader,
            event=event,
            fix=Fix(description="give it sampler=DistributedSampler(dataset), and shuffle=False"),
        )
        verdict = ranks_shared_samples(fault, run)
        begun = _epochs_of_training(run, event.loader)
        if verdict.state is State.CONFIRMED and begun is not None and _is_certain(run, event, *begun):
            yield fault.with_(verdict=verdict)


def _is_certain(run: Observed, built: LoaderBuilt, first: EpochBegun, second: EpochBegun) -> bool:
    """Whether it is the same data in whole, and neither each rank's own random choice nor divided on the way."""
    if first.data is None or first.data != second.data or set(first.indices or ()) != set(second.indices or ()):
        return False
    if list(first.indices or ()) == list(second.indices or ()):
        inputs = {_first_inputs(run, first), _first_inputs(run, second)}
        return len(inputs) == 1 and None not in inputs
    seeds = [seed for program in run.predicted for seed in program.of(Seeded)]
    samples_itself = built.sampler is None and built.batch_sampler is None
    return bool(run.predicted) and samples_itself and not any("rank" in seed.value.taint for seed in seeds)


CHECK = Check(
    name="unsharded-loader",
    summary="every rank trains on all of the data: no distributed sampler, and nothing else splits it",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(LoaderBuilt,),
    predict=every_rank_draws_everything,
    judge=ranks_shared_samples,
    observe=both_ranks_drew_everything,
)

"""A stream of training samples that goes past every rank in whole."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Forward, LoaderBuilt
from ddpdoctor.facts import default_of
from ddpdoctor.facts.undivided import undivided
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached
from ddpdoctor.trace import Observed, Predicted

COMPARED = 2
"""So many first batches of two ranks are compared."""


def every_rank_reads_the_whole_stream(trace: Predicted) -> Iterator[Fault]:
    """Find the iterable data sets that train a wrapped model and ask for neither rank nor number of ranks."""
    for event, backward in undivided(trace):
        if event.iterable:
            yield Fault(
                place=event.place,
                message=_message(event),
                places=(Label(place=backward.place, text="trained on here"),),
                about=event.loader,
                event=event,
                fix=Fix(
                    description="let __iter__ yield every n-th sample for n = ranks x workers, each worker its own"
                ),
            )


def _message(event: LoaderBuilt) -> str:
    workers = default_of(event.workers)
    if event.split_by_worker:
        return "this stream is split over the workers, not over the ranks: each rank trains on all of it"
    if isinstance(workers, int) and workers > 1:
        return f"each rank trains on all of this stream, and {workers} times over: every worker reads all of it too"
    return "each rank trains on all of this stream: nothing in it asks for the rank"


def ranks_got_the_same_batches(fault: Fault, run: Observed) -> Verdict:
    """Compare what the wrapped models of two ranks got first in training."""
    first, second = ([_given(run, rank) for rank in run.ranks[:2]] + [[], []])[:2]
    compared = min(len(first), len(second), COMPARED)
    if not compared:
        return not_reached("no two ranks came to a training step")
    ranks = list(run.ranks[:2])
    if first[:compared] != second[:compared]:
        return not_reached(
            "the ranks' first batches differ: the stream may be shuffled, or divided on the way", ranks=ranks
        )
    return confirmed("two ranks train on the very same batches", ranks=ranks, inputs=first[:compared])


def _given(run: Observed, rank: int) -> list[str]:
    """Return the digests of what a rank's wrapped model got in training."""
    return [
        event.inputs
        for event in run.on(rank, Forward)
        if event.via == "wrapper" and event.grad and event.training and event.inputs is not None
    ]


CHECK = Check(
    name="unsharded-iterable-dataset",
    summary="every rank trains on all of an iterable data set: it asks neither for the rank nor for the worker",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(LoaderBuilt,),
    predict=every_rank_reads_the_whole_stream,
    judge=ranks_got_the_same_batches,
)

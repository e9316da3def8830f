"""An evaluation whose DistributedSampler repeats samples to make the parts even, and that counts them twice."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Collective, EpochBegun, LoaderBuilt, LoaderHandedOver, SamplerBuilt
from ddpdoctor.facts import is_distributed, samplers
from ddpdoctor.facts.evaluation import evaluated, final, handed_over, is_dealt_out_to
from ddpdoctor.facts.launch import numbers_of_ranks
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached
from ddpdoctor.join import same_object
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Ref, Value, alternatives, truth

SUMS = frozenset({"all_reduce", "reduce", "reduce_scatter", "all_reduce_coalesced", "MPI allreduce"})
"""Collectives that add numbers up, so that no sample can be told from its copy any more."""
GATHERED = frozenset({"gather", "reduce"})
"""Accelerate's own: it pads without a sampler that the program names."""
PADDING = frozenset(
    {
        "torch.utils.data.DistributedSampler",
        "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler",
        "timm.data.distributed_sampler.OrderedDistributedSampler",
    }
)
"""Samplers that repeat the first samples until each rank has as many."""
SHOWN = 8


def copies_are_counted(trace: Predicted) -> Iterator[Fault]:
    """Find the samplers that pad evaluation data whose sums are then added up over the ranks."""
    yield from gathered_with_copies(trace)
    if not is_distributed(trace):
        return
    known, seen = samplers(trace), set[Place]()
    for loader, built in evaluated(trace).items():
        padded = next((known[ref] for ref in built.distributed_samplers if _pads(known.get(ref))), None)
        used = next((event for event in final(trace, loader) if loader in event.added), None)
        if padded is None or used is None or padded.place in seen or not compatible(padded.when, used.when):
            continue
        if _divides(trace, padded):
            continue
        added = next((event for event in trace.of(Collective) if _adds(trace, event, loader, built)), None)
        if added is None or _collects_too(trace, added):
            continue
        seen.add(padded.place)
        yield Fault(
            place=padded.place,
            message="this sampler repeats samples until every rank has as many, and the copies count in the result",
            places=(Label(place=added.place, text="added up over the ranks here"),),
            about=loader,
            event=padded,
            fix=Fix(description="gather the predictions and cut them to len(dataset), or evaluate the rest apart"),
        )


def gathered_with_copies(trace: Predicted) -> Iterator[Fault]:
    """Find what Accelerate gathers with the samples that it filled the last batches up with, and that are counted."""
    collected = [event for event in trace.of(Collective) if event.op in GATHERED and event.loaders]
    for loader, built in evaluated(trace).items() if collected else ():
        given = handed_over(trace, built)
        used = any(loader in event.added for event in final(trace, loader))
        if given is None or not given.pads or not used or not _keeps_the_rest(built.drop_last):
            continue
        for event in collected:
            if loader in event.loaders and is_dealt_out_to(trace, event, built):
                yield Fault(
                    place=event.place,
                    message=f"{event.op}() keeps the samples that Accelerate has filled the last batches up with: "
                    "the copies count in the result",
                    places=(Label(place=given.place, text="dealt out to the ranks here"),),
                    about=loader,
                    event=event,
                    fix=Fix(description="gather with accelerator.gather_for_metrics(), which leaves the copies out"),
                )
                break


def _keeps_the_rest(drop_last: Value | None) -> bool:
    return drop_last is None or any(truth(value) is not True for _, value in alternatives(drop_last))


def _pads(sampler: SamplerBuilt | None) -> bool:
    if sampler is None or sampler.sampler.type not in PADDING:
        return False
    return _keeps_the_rest(sampler.drop_last)


def _divides(trace: Predicted, sampler: SamplerBuilt) -> bool:
    """Whether the data is known to divide by the number of ranks: there is nothing to make even then."""
    given = [value for _, value in alternatives(sampler.replicas)] if sampler.replicas is not None else []
    counts = [one.value for one in given if isinstance(one, Constant) and isinstance(one.value, int) and one.value]
    ranks = counts if given and len(counts) == len(given) else numbers_of_ranks(trace, sampler.process)
    return bool(ranks and sampler.lengths) and not any(n % rank for n in sampler.lengths for rank in ranks)


def _adds(trace: Predicted, event: Collective, loader: Ref, built: LoaderBuilt) -> bool:
    return event.op in SUMS and loader in event.loaders and is_dealt_out_to(trace, event, built)


def _collects_too(trace: Predicted, added: Collective) -> bool:
    """Whether objects are gathered beside a sum: an evaluator that collects by sample counts none twice.

    What is then added up is a loss for the log.
    """
    caller = added.stack[:-1]
    return any(
        (event.op in OF_OBJECTS or (event.op == "all_gather" and not event.loaders))
        and event.stack[: len(caller)] == caller
        for event in trace.of(Collective)
        if caller and event.order > added.order and event.process == added.process
    )


OF_OBJECTS = frozenset({"all_gather_object", "gather_object"})


def a_sample_came_twice(fault: Fault, run: Observed) -> Verdict:
    """Look for samples that several ranks drew in one pass over the loader."""
    assert fault.about is not None
    refs = same_object(fault.about, {event.loader for event in run.of(EpochBegun)})
    begun = [next((one for one in run.on(rank, EpochBegun) if one.loader in refs), None) for rank in run.ranks]
    drawn = [list(event.indices) for event in begun if event is not None and event.indices is not None]
    if len(drawn) < len(run.ranks):
        return not_reached("not every rank came to the evaluation, or its samples cannot be read")
    every = [index for one in drawn for index in one]
    twice = sorted({index for index in every if every.count(index) > 1})
    if not twice:
        return not_reached(f"{len(every)} samples divide by {len(drawn)} ranks: only other numbers of ranks get copies")
    return confirmed(
        f"{len(every) - len(set(every))} of {len(set(every))} samples are evaluated twice", indices=twice[:SHOWN]
    )


CHECK = Check(
    name="padded-evaluation",
    summary="a DistributedSampler pads the evaluation data, and the copies count in the metric",
    severity=Severity.NOTE,
    layers=("source", "probe"),
    triggers=(SamplerBuilt, LoaderHandedOver),
    predict=copies_are_counted,
    judge=a_sample_came_twice,
)

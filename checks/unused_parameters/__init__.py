"""Parameters that take part in no loss: DDP waits for their gradients, and the second forward raises."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import GradientsSeen, ModelChanged, ModelWrapped, Raised
from ddpdoctor.facts import option, replicas, training_forwards
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, callers, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted

RAISES = "DDP waits for their gradients, and the second forward raises 'Expected to have finished reduction'"
UNFINISHED = "Expected to have finished reduction in the prior iteration"
"""What DDP raises in the forward after a backward that left a bucket unfilled (torch/csrc/distributed/c10d/reducer.cpp,
``ensure_prior_reduction_finished``)."""
SHOWN = 8


def parts_that_nothing_uses(trace: Predicted) -> Iterator[Fault]:
    """Find wrapped models with parts that are made and that no code ever uses."""
    for wrap in replicas(trace):
        if not trace.complete or not wrap.idle or option(wrap, "static_graph") is not False or _frozen(trace, wrap):
            continue
        if not any(training_forwards(trace, wrap.wrapper)):
            continue
        names = ", ".join(part.name for part in wrap.idle[:SHOWN])
        sought = option(wrap, "find_unused_parameters")
        what = "DDP walks the graph in every step only to pass over them" if sought is not False else RAISES
        yield Fault(
            place=wrap.place,
            message=f"the parameters of {names} take part in no loss: {what}",
            severity=Severity.NOTE if sought is not False else None,
            places=(
                *(Label(place=part.place, text=f"{part.name}, which nothing uses") for part in wrap.idle[:SHOWN]),
                *callers(wrap),
            ),
            subject=wrap.idle[0].name,
            about=wrap.wrapper,
            event=wrap,
            fix=Fix(description="take the part out of the model, or use it in the loss"),
        )


def _frozen(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether anything of the model is frozen before the wrap: it may be just these parts."""
    return any(
        event.what == "requires_grad" and event.order < wrap.order and event.model in wrap.parts
        for event in trace.of(ModelChanged)
    )


def run_left_them_without_gradients(fault: Fault, run: Observed) -> Verdict:
    """See which parameters of the model that was wrapped here got no gradient in any backward."""
    wrapped = seen_at(run.of(ModelWrapped), fault.place, fault.about.stack if fault.about else None)
    seen = [event for event in run.of(GradientsSeen) if any(event.wrapper == wrap.wrapper for wrap in wrapped)]
    if not seen:
        return not_reached("no gradients of a model that is wrapped here were seen")
    unused = set(seen[0].unused).intersection(*(event.unused for event in seen))
    if not unused:
        return refuted("every parameter got a gradient in some backward", backwards=len(seen))
    return _confirmed(sorted(unused), seen, run)


def _confirmed(unused: list[str], seen: list[GradientsSeen], run: Observed) -> Verdict:
    raised = [event for event in run.of(Raised) if UNFINISHED in event.message]
    echoes = [event for event in run.of(Raised) if event.caused_by_peer] if raised else []
    then = "" if not raised else ", and the next forward raised"
    return confirmed(
        f"{len(unused)} parameters got no gradient in {len(seen)} backward passes{then}",
        *raised,
        *echoes,
        unused=tuple(unused[:SHOWN]),
        count=len(unused),
        **({"exception": raised[0].message.partition(". ")[0]} if raised else {}),
    )


def reduction_was_never_finished(run: Observed) -> Iterator[Fault]:
    """Report the parameters without a gradient in a first backward that DDP therefore could not finish."""
    rank = run.ranks[0]
    shown = [fault.place for program in run.predicted for fault in parts_that_nothing_uses(program)]
    for wrap in run.of(ModelWrapped):
        steps = [event for event in run.on(rank, GradientsSeen) if event.wrapper == wrap.wrapper]
        if wrap.rank != rank or not steps or not steps[0].unused or steps[0].digest is not None:
            continue
        if any(place.covers(wrap.place) for place in shown):
            continue
        unused = sorted(steps[0].unused)
        names = unused[0] if len(unused) == 1 else f"{unused[0]} and {len(unused) - 1} more parameters"
        yield Fault(
            place=wrap.place,
            message=f"{names} got no gradient: {RAISES}",
            subject=unused[0],
            about=wrap.wrapper,
            event=wrap,
            fix=Fix(description="use them in the loss, take them out, or wrap with find_unused_parameters=True"),
            verdict=_confirmed(unused, steps[:1], run),
        )


CHECK = Check(
    name="unused-parameters",
    summary="parameters of the wrapped model take part in no loss",
    severity=Severity.ERROR,
    layers=("source", "model", "probe"),
    triggers=(ModelWrapped,),
    predict=parts_that_nothing_uses,
    judge=run_left_them_without_gradients,
    observe=reduction_was_never_finished,
)

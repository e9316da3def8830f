"""``find_unused_parameters=True`` for a model of which every step uses every parameter: a traversal for nothing."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Forward, GradientsSeen, LayersUsed, ModelChanged, ModelWrapped
from ddpdoctor.facts import option, replicas, shows_nothing
from ddpdoctor.finding import Confidence, Fault, Fix, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted

COST = "DDP walks the whole autograd graph after each forward for parameters without a gradient"


def nothing_shows_an_unused_parameter(trace: Predicted) -> Iterator[Fault]:
    """Find wraps that look for unused parameters of a model whose graph is the same in each step."""
    for wrap in replicas(trace):
        if option(wrap, "find_unused_parameters") is not True or option(wrap, "static_graph") is not False:
            continue
        if wrap.idle or wrap.unshown or _varies(trace, wrap) or _freezes(trace, wrap) or _never_learns(trace, wrap):
            continue
        if shows_nothing(wrap):
            continue
        shown = any(event.model == wrap.wrapper for event in trace.of(LayersUsed)) and len(wrap.parts) > 1
        yield Fault(
            place=wrap.place,
            message=f"{COST}, and no step is seen to leave one out" if shown else COST,
            confidence=Confidence.HIGH if shown else Confidence.MEDIUM,
            about=wrap.wrapper,
            event=wrap,
            fix=Fix(description="leave it out: where a parameter gets no gradient, DDP raises and says so"),
        )


def _varies(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether a training forward leaves parts out, in some steps or in all, or two of them use different ones."""
    training = {event.order for event in trace.of(Forward) if event.model == wrap.wrapper and event.grad}
    uses = [event for event in trace.of(LayersUsed) if event.forward in training]
    own = frozenset(wrap.parts)  # and none that a forward makes by itself
    used = {own.intersection(event.always) for event in uses}
    return any(event.sometimes or event.left_out for event in uses) or len(used) > 1


def _freezes(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether parts of the wrapped model stop or begin to learn later, or it is told later that its graph is static."""
    changes = [event for event in trace.of(ModelChanged) if event.what in ("requires_grad", "static graph")]
    return any(wrap.wrapper in event.wrapped for event in changes)


def _never_learns(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether every forward is without gradients: DDP then walks no graph (``_post_forward`` of DDP)."""
    forwards = [event for event in trace.of(Forward) if event.model == wrap.wrapper]
    return bool(forwards) and not any(event.grad for event in forwards)


def every_parameter_was_used(fault: Fault, run: Observed) -> Verdict:
    """See whether each backward gave every parameter of the model a gradient."""
    wrapped = seen_at(run.of(ModelWrapped), fault.place, fault.about.stack if fault.about else None)
    seen = [event for event in run.of(GradientsSeen) if any(event.wrapper == wrap.wrapper for wrap in wrapped)]
    if not seen:
        return not_reached("no gradients of a model that is wrapped here were seen")
    unused = next((event for event in seen if event.unused), None)
    if unused is not None:
        return refuted(
            f"backward {unused.step} left {len(unused.unused)} parameters without a gradient",
            unused=unused.unused[:SHOWN],
            rank=unused.rank,
        )
    steps = max(event.step for event in seen)
    return confirmed(
        f"each of {len(seen[0].parameters)} parameters got a gradient in each of {steps} steps",
        parameters=len(seen[0].parameters),
        steps=steps,
        ranks=sorted({event.rank for event in seen if event.rank is not None}),
    )


SHOWN = 6

CHECK = Check(
    name="needless-find-unused",
    summary="find_unused_parameters=True for a model of which each step uses every parameter",
    severity=Severity.NOTE,
    layers=("source", "model", "probe"),
    triggers=(ModelWrapped,),
    predict=nothing_shows_an_unused_parameter,
    judge=every_parameter_was_used,
)

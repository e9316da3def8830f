"""A training loss whose forward goes around DDP: its gradients are never averaged."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Backward, Forward, GradientsSeen, ModelWrapped
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.trace import Observed, Predicted


def loss_goes_around_ddp(trace: Predicted) -> Iterator[Fault]:
    """Find backward passes of losses that come from a wrapped model and never from its wrapper."""
    forwards = {event.order: event for event in trace.of(Forward)}
    for backward in trace.of(Backward):
        came_from = [forwards[order] for order in backward.forwards if order in forwards]
        around = [event for event in came_from if event.via == "module" and event.grad]
        if not around or any(_through_wrapper(event, around[0]) for event in came_from):
            continue
        yield Fault(
            place=around[0].place,
            message="this forward goes around DDP: its gradients are never averaged, and the replicas drift apart",
            places=(Label(place=backward.place, text="the backward of its loss"), *_wraps(trace, around[0])),
            event=around[0],
            fix=Fix(description="call the wrapped model itself: model(x), not model.module(x)"),
        )


def _through_wrapper(event: Forward, other: Forward) -> bool:
    return event.via == "wrapper" and compatible(event.when, other.when)


def _wraps(trace: Predicted, event: Forward) -> tuple[Label, ...]:
    wraps = [wrap for wrap in trace.of(ModelWrapped) if wrap.process == event.process]
    return tuple(Label(place=wrap.place, text="wrapped here") for wrap in wraps[:1])


def gradients_stayed_local(fault: Fault, run: Observed) -> Verdict:
    """See whether the backward that followed averaged anything, and whether the ranks' gradients differ."""
    backwards = [event for event in run.of(Backward) if any(label.place.covers(event.place) for label in fault.places)]
    bypassed = [event for event in backwards if event.bypassed]
    if bypassed:
        digests = {
            f"rank {event.rank}": event.digest for event in run.of(GradientsSeen) if event.step == 1 and event.digest
        }
        differ = len(set(digests.values())) > 1
        reason = "a backward gave the wrapped model gradients and averaged none"
        return confirmed(
            reason + ("; the ranks' gradients differ" if differ else ""),
            backward=bypassed[0].place,
            ranks=sorted({event.rank for event in bypassed if event.rank is not None}),
            **({"gradients": digests} if digests else {}),
        )
    if any(event.reduced for event in backwards):
        return refuted("the backward of this loss averaged the gradients", backward=backwards[0].place)
    return not_reached("the backward of this loss was not reached")


CHECK = Check(
    name="bypassed-ddp-forward",
    summary="a training loss is computed around DDP: its gradients are not averaged",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(Backward,),
    predict=loss_goes_around_ddp,
    judge=gradients_stayed_local,
)

"""Gradients that are clipped while they are still multiplied by the loss scale."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition, Formula
from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, assume, negation, together
from ddpdoctor.events import Backward, Event, GradientsClipped, OptimizerStep, ScalerBuilt, Unscaled
from ddpdoctor.facts import is_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Ref


def clipped_while_scaled(trace: Predicted) -> Iterator[Fault]:
    """Find the clipping that follows a scaled backward with no ``unscale_`` between them, on some path."""
    if not is_distributed(trace):
        return
    told = set()
    for clip in trace.of(GradientsClipped):
        backward = _last_scaled(trace, clip)
        if backward is None or clip.place in told:
            continue
        told.add(clip.place)
        limit = "values are" if clip.by in ("clip_grad_value_", "clamp_", "clip_") else "norm is"
        yield Fault(
            place=clip.place,
            message=f"the gradients' {limit} cut to the limit while they are still multiplied by the loss scale "
            "(65536 at first): the optimiser gets what is left, divided by the scale",
            places=(
                Label(place=backward.place, text="the scaled backward"),
                *(Label(place=place, text="called from here") for place in reversed(clip.stack[-3:])),
            ),
            confidence=Confidence.HIGH if isinstance(backward.scaler, Ref) else Confidence.MEDIUM,
            event=clip,
            fix=Fix(description="call scaler.unscale_(optimizer) between the backward and the clipping"),
        )


def _last_scaled(trace: Predicted, clip: GradientsClipped) -> Backward | None:
    """Return the last backward before a clipping whose gradients can still be scaled there."""
    between: list[Event] = [*trace.of(Unscaled), *trace.of(OptimizerStep)]
    for backward in reversed(trace.of(Backward)):
        if backward.order > clip.order or backward.process != clip.process or backward.scaler is None:
            continue
        both = together(backward.when, clip.when)
        if both is None or not _of_one_step(backward, clip):
            continue
        left = assume(both, _scales(trace, backward.scaler))
        for event in between:
            if left is not None and event.process == clip.process and backward.order < event.order < clip.order:
                left = _without(left, event)
        if left is not None:
            return backward
    return None


def _of_one_step(backward: Backward, clip: GradientsClipped) -> bool:
    """Whether a backward and a clipping belong to one training step: the same round of the loop around both."""
    shared = min(len(backward.loops), len(clip.loops))
    return backward.loops[:shared] == clip.loops[:shared]


def _without(condition: Condition, event: Event) -> Condition | None:
    """Return a condition with what makes an event happen ruled out, ``None`` where it always happens."""
    return assume(condition, negation(as_formula(event.when - condition)))


def _scales(trace: Predicted, scaler: object) -> Formula:
    """Return the formula under which a scaler is enabled: without, its ``scale`` gives back what it gets."""
    return next((event.enabled for event in trace.of(ScalerBuilt) if event.scaler == scaler), True)


CHECK = Check(
    name="clip-before-unscale",
    summary="gradients are clipped while they are still multiplied by the loss scale",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(GradientsClipped,),
    predict=clipped_while_scaled,
)

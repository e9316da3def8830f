"""Gradients whose strides differ from their bucket's: what DDP's stride warning means, parameter by parameter."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import GradientsChanged, GradientsSeen, ModelWrapped, ParameterSeen
from ddpdoctor.facts import replicas
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import alternatives

SHOWN = 6
"""How many parameters the evidence lists by name and strides."""

NOMINAL = "the strides differ only in dimensions of size 1: the same memory order, no cost; PyTorch warns all the same"
REAL = "the gradient lies in another order than its bucket: DDP copies it element by element in every step"


def gradient_is_replaced(trace: Predicted) -> Iterator[Fault]:
    """Find gradients that the script gives a tensor of its own in another layout than the parameter's."""
    for event in trace.of(GradientsChanged):
        wrap = _wrap_of(event, trace)
        if event.differs and wrap is not None:
            yield Fault(
                place=wrap.place,
                message=f"gradients are {event.how} with {event.layout} tensors, unlike the parameters: {REAL}",
                severity=Severity.WARNING,
                places=(Label(place=event.place, text=f"{event.how} here"),),
                about=wrap.wrapper,
                event=event,
                fix=Fix(
                    description="give it the parameter's strides (torch.zeros_like(p)), or write into p.grad in place"
                ),
            )


def _wrap_of(event: GradientsChanged, trace: Predicted) -> ModelWrapped | None:
    """Return the wrap of the model whose gradients are changed: the only one of the process, where that is not told."""
    wraps = [wrap for wrap in replicas(trace) if wrap.process == event.process]
    changed = {value for _, value in alternatives(event.model)}
    own = (wrap for wrap in wraps if changed & {wrap.wrapper, *(value for _, value in alternatives(wrap.model))})
    return next(own, wraps[0] if len(wraps) == 1 else None)


def run_replaced_gradients(fault: Fault, run: Observed) -> Verdict:
    """See whether the reducer of the model that was wrapped here found gradients in another order than its buckets."""
    wrapped = seen_at(run.of(ModelWrapped), fault.place, fault.about.stack if fault.about else None)
    seen = [event for event in run.of(GradientsSeen) if any(event.wrapper == wrap.wrapper for wrap in wrapped)]
    if not seen:
        return not_reached("no gradients of a model that is wrapped here were seen")
    real = [row for row in seen[0].parameters if _mismatch(row) == "real"]
    if not real:
        return refuted("every gradient had its bucket's order", parameters=len(seen[0].parameters))
    had = f"{real[0].name} had a gradient" if len(real) == 1 else f"{len(real)} parameters had gradients"
    return confirmed(f"{had} in another order than the bucket", **_evidence(real))


def reducer_found_other_strides(run: Observed) -> Iterator[Fault]:
    """Report, for each wrapped model, the mismatches of its first backward: nominal ones and real ones apart."""
    for wrap in run.of(ModelWrapped):
        if wrap.rank != run.ranks[0]:
            continue
        steps = [event for event in run.on(run.ranks[0], GradientsSeen) if event.wrapper == wrap.wrapper]
        if not steps:
            continue
        for kind, message, severity in (("nominal", NOMINAL, Severity.NOTE), ("real", REAL, Severity.WARNING)):
            rows = [row for row in steps[0].parameters if _mismatch(row) == kind]
            if rows:
                yield Fault(
                    place=wrap.place,
                    message=f"{_count(rows)} ({kind}): {message}",
                    severity=severity,
                    subject=rows[0].name,
                    about=wrap.wrapper,
                    event=wrap,
                    fix=_fix(kind),
                    verdict=confirmed(_healing(steps, kind), kind=kind, **_evidence(rows)),
                )


def _mismatch(row: ParameterSeen) -> str | None:
    """Return ``nominal`` or ``real`` for a gradient whose strides differ from its bucket view's."""
    if row.grad is None or row.grad == row.view:
        return None
    sizes = zip(row.shape, row.grad, row.view, strict=True)
    return "nominal" if all(size == 1 or one == other for size, one, other in sizes) else "real"


def _count(rows: list[ParameterSeen]) -> str:
    if len(rows) == 1:
        return f"the gradient of {rows[0].name} is not in its bucket's strides"
    return f"the gradients of {len(rows)} parameters are not in their buckets' strides"


def _fix(kind: str) -> Fix:
    if kind == "nominal":
        return Fix(
            description="none is needed; model.to(memory_format=torch.channels_last) before the wrap silences it",
            safe=False,
        )
    return Fix(description="let autograd make the gradient, or give it the parameter's strides")


def _healing(steps: list[GradientsSeen], kind: str) -> str:
    """Say whether the rebuild of the buckets after the first step mended it."""
    later = [sum(_mismatch(row) == kind for row in event.parameters) for event in steps]
    if len(later) < 2:
        return f"seen in the first backward on rank 0 ({later[0]} parameters)"
    if later[-1] == 0:
        return f"{later[0]} parameters in the first backward, none in backward {len(later)}: the rebuild mended it"
    return f"{later[0]} parameters in the first backward and {later[-1]} in backward {len(later)}: it stays"


def _evidence(rows: list[ParameterSeen]) -> dict[str, object]:
    shown = {row.name: {"sizes": row.shape, "gradient": row.grad, "bucket": row.view} for row in rows[:SHOWN]}
    return {
        "parameters": len(rows),
        "strides": shown,
        "pytorch_warned": sum(row.warned for row in rows),
        "proxy": "measured on the CPU",
    }


CHECK = Check(
    name="grad-stride-mismatch",
    summary="gradient strides differ from the bucket's: nominal (no cost) or real (a copy a step)",
    severity=Severity.NOTE,
    layers=("source", "model", "probe"),
    triggers=(GradientsChanged, GradientsSeen),
    predict=gradient_is_replaced,
    judge=run_replaced_gradients,
    observe=reducer_found_other_strides,
)

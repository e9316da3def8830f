"""The DDP wrapper is called by some ranks only: what its forward exchanges with the others, they never join."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import literals
from ddpdoctor.events import Backward, Forward, ModelWrapped
from ddpdoctor.facts import replicas, training_forwards
from ddpdoctor.facts.ranks import completed, for_some_ranks_only, reaching
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import divides_ranks
from ddpdoctor.value import Constant
from ddpdoctor.world import WORLDS, is_counted


def only_some_ranks_call_the_wrapper(trace: Predicted) -> Iterator[Fault]:
    """Find forwards of a wrapper under a condition on the rank that the other ranks do not make as well."""
    wraps = {wrap.wrapper: wrap for wrap in replicas(trace)}
    forwards = [event for event in trace.of(Forward) if event.via == "wrapper" and event.model in wraps]
    told = set()
    for event in forwards:
        wrap = next(one for ref, one in wraps.items() if ref == event.model)
        others = [one for one in forwards if one is not event and one.model == event.model]
        if not for_some_ranks_only(event) or for_some_ranks_only(wrap) or completed(event, others):
            continue
        if any(one.atom.kind == "rank" and is_counted(one.atom.expression) for one in literals(event.when)):
            continue  # each rank has rounds of its own
        found = _consequence(event, wrap, _backward_of(trace, event))
        if found is None or (event.place, event.stack) in told:
            continue
        told.add((event.place, event.stack))
        severity, confidence, what = found
        yield Fault(
            place=event.place,
            message=f"{_who(event)} the DDP wrapper here: {what}",
            severity=severity,
            confidence=confidence,
            places=(*callers(event), Label(place=wrap.place, text="wrapped here")),
            event=event,
            fix=Fix(description=f"call the module itself, model.module(x), or take the call out of {_test(event)}"),
        )


def _backward_of(trace: Predicted, event: Forward) -> Backward | None:
    """Return a backward of the loss of a forward, where it is left to the same ranks."""
    pairs = training_forwards(trace, event.model) if not isinstance(event.model, Constant) else ()  # type: ignore[arg-type]
    return next((backward for forward, backward in pairs if forward is event and for_some_ranks_only(backward)), None)


def _consequence(
    event: Forward, wrap: ModelWrapped, backward: Backward | None
) -> tuple[Severity, Confidence, str] | None:
    """Return how bad it is that only some ranks call the wrapper, how sure that is, and what it exchanges."""
    if backward is not None:
        return Severity.ERROR, Confidence.HIGH, "the all-reduce of its gradients waits for ranks that never call it"
    buffers = False if _not_broadcast(wrap) else wrap.buffers
    if buffers:
        what = "its forward broadcasts the model's buffers, which the other ranks join in their next forward, or never"
        return Severity.ERROR, Confidence.HIGH, what
    if buffers is None:
        what = "its forward broadcasts the buffers if the model has any, and the other ranks do not join"
        return Severity.WARNING, Confidence.MEDIUM, what
    if event.grad:
        what = "with gradients on, its forward after the first step exchanges the order of the buckets"
        return Severity.NOTE, Confidence.HIGH, what
    return None


def _not_broadcast(wrap: ModelWrapped) -> bool:
    return any(
        isinstance(value, Constant) and value.value is False
        for name in ("broadcast_buffers", "forward_sync_buffers")
        if (value := wrap.options.get(name)) is not None
    )


def _who(event: Forward) -> str:
    world = divides_ranks(event.when) or "torchrun"
    here = sorted(member.rank for member in reaching(event.when, WORLDS[world]))
    return f"rank {here[0]} alone calls" if len(here) == 1 else "only some ranks call"


def _test(event: Forward) -> str:
    tests = sorted({literal.atom.text for literal in literals(event.when) if literal.atom.kind == "rank"})
    return f"the test on {tests[0]}" if tests else "the test on the rank"


CHECK = Check(
    name="rank0-ddp-forward",
    summary="only some ranks call the DDP wrapper, whose forward exchanges data with all",
    severity=Severity.ERROR,
    layers=("source",),
    waits=True,
    triggers=(Forward,),
    predict=only_some_ranks_call_the_wrapper,
)

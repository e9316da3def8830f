"""Gradients that accumulate over several backwards, every one of which is all-reduced."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.events import Backward, Forward, GradientsZeroed, ModelWrapped, OptimizerStep, SyncSwitched
from ddpdoctor.facts.rounds import counts, happens_now_and_then
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Ref

APEX = "apex.parallel.DistributedDataParallel"
AVERAGING = ("torch.nn.parallel.DistributedDataParallel", "fairscale.nn.data_parallel.ShardedDataParallel", APEX)
"""The wrappers that average in every backward and can be told not to. FSDP keeps the whole gradient for that."""

NO_SYNC = "run all but the last forward and backward before a step inside model.no_sync()"
ACCELERATE = "give Accelerator gradient_accumulation_steps, and run each batch inside accelerator.accumulate(model)"


def every_backward_is_reduced(trace: Predicted) -> Iterator[Fault]:
    """Find the backwards of a wrapped model of which several come before a step, where nothing puts averaging off."""
    if any(not event.is_within("no_grad") for event in trace.of(SyncSwitched)):
        return
    told: set[tuple[Place, ...]] = set()
    for backward in trace.of(Backward):
        around = tuple(loop.place for loop in backward.loops)
        if not around or around in told or backward.is_within("no_grad"):
            continue
        forward = _wrapped_forward(trace, backward)
        averaged = forward is not None or backward.averaged_by is not None
        step = (_step_of_several(trace, backward) or _step_of_its_own(trace, backward)) if averaged else None
        if step is None:
            continue
        told.add(around)
        alike = [one for one in trace.of(Backward) if one.loops == backward.loops and one.place != backward.place]
        yield Fault(
            place=backward.place,
            message="every one of these backwards averages the gradients over all ranks, and the optimiser steps only "
            "after several of them: all but the last average for nothing",
            places=(
                Label(place=step.place, text="the step"),
                *((Label(place=forward.place, text="the forward"),) if forward is not None else ()),
                *(Label(place=place, text="called from here") for place in reversed(backward.stack[-4:])),
                *(Label(place=one.place, text="and here") for one in alike[:2]),
                *(Label(place=place, text="called from here") for one in alike[:2] for place in one.stack[-1:]),
            ),
            event=backward,
            confidence=Confidence.MEDIUM if backward.averaged_by is not None else Confidence.HIGH,
            fix=Fix(description=ACCELERATE if backward.averaged_by is not None else NO_SYNC),
        )


def _wrapped_forward(trace: Predicted, backward: Backward) -> Forward | None:
    """Return a forward through DDP that a backward's loss came from, in the same loops."""
    wrappers = {event.wrapper for event in trace.of(ModelWrapped) if event.how in AVERAGING}
    for forward in trace.of(Forward):
        through_ddp = forward.via == "wrapper" and forward.model in wrappers and forward.grad
        if through_ddp and forward.order in backward.forwards and forward.loops == backward.loops:
            return forward
    return None


def _step_of_several(trace: Predicted, backward: Backward) -> OptimizerStep | None:
    """Return the step that takes the gradients of several backwards, where the next one after each is no other."""
    found: OptimizerStep | None = None
    for step in trace.of(OptimizerStep):
        if step.process != backward.process or step.order < backward.order or not compatible(step.when, backward.when):
            continue
        outside = step.loops == backward.loops[: len(step.loops)]
        if step.loops == backward.loops:
            now_and_then = as_formula(step.when - backward.when)
            if not any(counts(now_and_then)):
                return None  # a step follows every backward
            if found is None and any(happens_now_and_then(now_and_then, loop) for loop in backward.loops):
                found = step
        elif found is None and outside and step.loops and backward.loops[-1].kind != "comprehension":
            found = step
    if found is None or any(_zeroed_each_time(event, backward, found) for event in trace.of(GradientsZeroed)):
        return None
    return found


def _step_of_its_own(trace: Predicted, backward: Backward) -> OptimizerStep | None:
    """Return the step that takes the gradients of several backwards, while another optimiser steps in every round.

    That of a generator every other round, and that of its discriminator in each: the next step after the backward is of
    a model that its loss came through.
    """
    after = (one for one in trace.of(OptimizerStep) if one.order > backward.order and one.process == backward.process)
    step = next((one for one in after if compatible(one.when, backward.when)), None)
    if step is None or step.optimizer is None or step.loops != backward.loops or not _is_through(trace, backward, step):
        return None
    if any(backward.order < one.order < step.order and one.process == step.process for one in trace.of(Backward)):
        return None
    steps = [one for one in trace.of(OptimizerStep) if one.optimizer == step.optimizer]
    now_and_then = as_formula(step.when - backward.when)
    if any(one.process == step.process and one.place != step.place for one in steps) or not any(counts(now_and_then)):
        return None
    if not happens_now_and_then(now_and_then, backward.loops[-1]):
        return None
    return None if any(_zeroed_each_time(event, backward, step) for event in trace.of(GradientsZeroed)) else step


def _is_through(trace: Predicted, backward: Backward, step: OptimizerStep) -> bool:
    """Whether a backward goes through the wrapper of a model that an optimiser steps."""
    wrappers = {one.wrapper for one in trace.of(ModelWrapped) if one.model in step.models or one.wrapper in step.models}
    through = (one for one in trace.of(Forward) if one.order in backward.forwards and one.loops == backward.loops)
    return any(one.via == "wrapper" and one.model in wrappers and one.grad for one in through)


def _zeroed_each_time(event: GradientsZeroed, backward: Backward, step: OptimizerStep) -> bool:
    """Whether the gradients are set to zero in every round of the backward's loop: then none accumulate."""
    other = isinstance(event.of, Ref) and step.optimizer is not None and event.of != step.optimizer
    if other and isinstance(event.of, Ref) and "optim" in event.of.type:
        return False
    return event.process == backward.process and event.loops == backward.loops and event.when <= backward.when


def several_were_reduced(fault: Fault, run: Observed) -> Verdict:
    """Count the backwards that averaged gradients between two steps of a rank."""
    step = fault.places[0].place
    most: dict[int, int] = {}
    reached = False
    for rank in run.ranks:
        averaged = 0
        for event in run:
            if event.rank != rank:
                continue
            if isinstance(event, Backward):
                averaged += bool(event.reduced)
            elif isinstance(event, OptimizerStep) and step.covers(event.place):
                most[rank], averaged, reached = max(most.get(rank, 0), averaged), 0, True
    if any(count > 1 for count in most.values()):
        count = max(most.values())
        return confirmed(f"{count} backwards averaged the gradients for one step", backwards_a_step=most)
    if reached:
        return not_reached("a step followed every backward of this run: nothing accumulated", backwards_a_step=most)
    return not_reached("no step was taken at this line")


CHECK = Check(
    name="accumulation-without-no-sync",
    summary="gradients accumulate over several backwards, and every one of them is all-reduced",
    severity=Severity.NOTE,
    layers=("source", "probe"),
    triggers=(Backward,),
    predict=every_backward_is_reduced,
    judge=several_were_reduced,
)

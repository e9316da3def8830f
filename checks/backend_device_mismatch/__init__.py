"""A process group whose backend is not for the device of what goes over it."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Collective, Event, GroupInit, ModelMoved, ModelWrapped, Unfollowed
from ddpdoctor.facts import backends, in_group, replicas
from ddpdoctor.facts.ranks import can_set_up_ranks
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Unknown, alternatives, is_none

DDP = "torch.nn.parallel.DistributedDataParallel"
NO_BACKEND = "NCCL moves GPU memory only, and the group has no backend for the CPU"


def backend_is_for_another_device(trace: Predicted) -> Iterator[Fault]:
    """Find CPU tensors and models that go over NCCL, and GPU models whose gradients go over gloo."""
    told = set()
    for event in trace.of(Collective):
        wrong = event.on_cpu and event.group is None and "object" not in event.op
        init = _group_of_nccl_alone(trace, event) if wrong else None
        if init is not None and event.place not in told:
            told.add(event.place)
            message = f"{event.op}() gets a tensor on the CPU: {NO_BACKEND}, so it raises RuntimeError"
            yield _fault(event, init, message, "move the tensor to this rank's GPU, or make the group without backend=")
    for wrap in replicas(trace):
        init = _group_of_nccl_alone(trace, wrap)
        if init is not None and _stays_on_the_cpu(trace, wrap):
            message = f"the model is on the CPU: {NO_BACKEND}, so DDP's constructor raises RuntimeError"
            yield _fault(wrap, init, message, "move the model to this rank's GPU first")
    yield from _gloo_for_gpus(trace)


def _group_of_nccl_alone(trace: Predicted, event: Event) -> GroupInit | None:
    """Return the initialisation where every group that an event can happen with has NCCL and no other backend."""
    inits = [init for init in in_group(trace, event) if init.order < event.order]
    names = [name for init in inits for when, name in backends(init) if compatible(when, event.when)]
    if not names or any(name != "nccl" for name in names) or not can_set_up_ranks(event.when):
        return None
    asks = any("backend" in literal.atom.text for literal in event.when)  # which one it is
    return None if asks or event.is_within("try") else inits[0]


def _stays_on_the_cpu(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether a model was made on the CPU, and is neither moved nor given to code that may do so.

    One that is moved too late is a fault of its own; so are SyncBatchNorm layers on the CPU.
    """
    if wrap.how != DDP or not wrap.on_cpu or wrap.synced or not is_none(wrap.options.get("device_ids")):
        return False
    parts = {*wrap.parts, *wrap.inside}
    moved = any(event.model in parts or wrap.wrapper in (event.model, *event.wrapped) for event in trace.of(ModelMoved))
    given = any(not parts.isdisjoint(call.objects) and call.order < wrap.order for call in trace.of(Unfollowed))
    return not moved and not given and is_none(wrap.options.get("process_group"))


def _gloo_for_gpus(trace: Predicted) -> Iterator[Fault]:
    """Find processes whose every group is certainly gloo's, with a model that is certainly wrapped for a GPU."""
    for process in dict.fromkeys(event.process for event in trace.of(GroupInit)):
        inits = [event for event in trace.of(GroupInit) if event.process == process]
        wraps = [event for event in replicas(trace) if event.process == process and _is_for_a_gpu(event)]
        if not wraps or not all(map(_is_certainly_gloo, inits)):
            continue
        init, wrap = inits[0], wraps[0]
        if not wrap.when <= init.when or not can_set_up_ranks(init.when):
            continue
        yield Fault(
            place=init.place,
            message="gloo carries the gradients of GPUs through host memory in every step: NCCL is for them",
            severity=Severity.NOTE,
            places=(Label(place=wrap.place, text="wrapped for a GPU here"),),
            event=init,
            fix=Fix(description='init_process_group("nccl"), or without backend= to have both'),
        )


def _is_certainly_gloo(init: GroupInit) -> bool:
    values = [value for _, value in alternatives(init.backend)]
    return all(isinstance(value, Constant) and str(value.value).lower() == "gloo" for value in values)


def _is_for_a_gpu(wrap: ModelWrapped) -> bool:
    devices = wrap.options.get("device_ids")
    if isinstance(devices, Constant):
        return isinstance(devices.value, tuple) and bool(devices.value)
    return wrap.how == DDP and isinstance(devices, Unknown) and devices.why == "items"


def _fault(event: Event, init: GroupInit, message: str, fix: str) -> Fault:
    return Fault(
        place=event.place,
        message=message,
        places=(Label(place=init.place, text="NCCL alone is initialised here"),),
        event=event,
        fix=Fix(description=fix),
    )


CHECK = Check(
    name="backend-device-mismatch",
    summary="the backend is not for the device: CPU tensors over NCCL, GPU gradients over gloo",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(GroupInit,),
    predict=backend_is_for_another_device,
)

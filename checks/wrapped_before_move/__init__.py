"""A model is wrapped for a GPU while its parameters are still on the CPU, or on another GPU."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import ModelMoved, ModelWrapped
from ddpdoctor.facts import replicas
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Unknown, Value

DDP = "torch.nn.parallel.DistributedDataParallel"
ON_CPU = "device_ids names a GPU while the parameters are on the CPU: DDP's constructor raises ValueError"


def wrapped_where_the_model_is_not(trace: Predicted) -> Iterator[Fault]:
    """Find wraps with ``device_ids`` of models that are on the CPU by then, or were put onto another GPU."""
    for wrap in replicas(trace):
        if wrap.how != DDP or not _names_a_device(wrap.options.get("device_ids")):
            continue
        before = [event for event in _moves(trace, wrap) if event.order < wrap.order]
        if not before and wrap.on_cpu:
            later = [
                event for event in trace.of(ModelMoved) if wrap.wrapper in event.wrapped and event.device == "cuda"
            ]
            places = tuple(Label(place=event.place, text="moved only here") for event in later[:1])
            yield _fault(wrap, ON_CPU, places)
        elif before and before[-1].device == "cpu" and before[-1].when <= wrap.when:
            yield _fault(wrap, ON_CPU, (Label(place=before[-1].place, text="put onto the CPU here"),))
        elif before and before[-1].when <= wrap.when and _another(before[-1].index, wrap.options["device_ids"]):
            message = "device_ids names another GPU than the model is on: its inputs go there, and the forward raises"
            yield _fault(wrap, message, (Label(place=before[-1].place, text="the model is put here"),))


def _fault(wrap: ModelWrapped, message: str, places: tuple[Label, ...]) -> Fault:
    return Fault(
        place=wrap.place,
        message=message,
        places=(*places, *callers(wrap)),
        about=wrap.wrapper,
        event=wrap,
        fix=Fix(description="move first, then wrap: DDP(model.to(local_rank), device_ids=[local_rank])"),
    )


def _moves(trace: Predicted, wrap: ModelWrapped) -> Iterator[ModelMoved]:
    """Yield what puts the model, or any part of it, onto a device in the process of its wrap."""
    for event in trace.of(ModelMoved):
        named = event.device is not None and event.process == wrap.process
        if named and event.model in (*wrap.parts, *wrap.inside) and compatible(event.when, wrap.when):
            yield event


def _names_a_device(value: Value | None) -> bool:
    """Whether ``device_ids`` is certainly a list of something."""
    if isinstance(value, Constant):
        return isinstance(value.value, tuple) and len(value.value) == 1
    return isinstance(value, Unknown) and value.why == "items"


def _another(index: Value | None, devices: Value) -> bool:
    """Whether two devices are written into the code, and are not the same one."""
    if not isinstance(index, Constant) or not isinstance(devices, Constant) or not isinstance(devices.value, tuple):
        return False
    return all(isinstance(one, int) for one in (index.value, *devices.value)) and index.value not in devices.value


CHECK = Check(
    name="wrapped-before-move",
    summary="DDP is given device_ids while the model is on the CPU or on another GPU",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ModelWrapped,),
    predict=wrapped_where_the_model_is_not,
)

"""A model is wrapped for a GPU while its parameters are still on the CPU, or on another GPU."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import MAIN, ModelMoved, ModelWrapped
from ddpdoctor.facts import in_group, replicas, trained_after, uses_nccl_alone
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Symbol, Unknown, Value, is_none
from ddpdoctor.world import UNKNOWN, WORLDS, evaluate

DDP = "torch.nn.parallel.DistributedDataParallel"
ON_CPU = "device_ids names a GPU while the parameters are on the CPU: DDP's constructor raises ValueError"
LOST = "the parameters are on the CPU here, and lose DDP's hooks when they are moved: no gradient is averaged"
REFUSED = "the parameters are on the CPU here, where NCCL cannot send them: DDP's constructor raises"


def wrapped_where_the_model_is_not(trace: Predicted) -> Iterator[Fault]:
    """Find wraps of models that are on the CPU by then and meant for a GPU, or were put onto another GPU."""
    for wrap in replicas(trace):
        if wrap.how != DDP or not trace.complete:
            continue
        devices = wrap.options.get("device_ids")
        before = [event for event in _moves(trace, wrap) if event.order < wrap.order]
        later = [one for one in trace.of(ModelMoved) if wrap.wrapper in one.wrapped and one.device == "cuda"]
        moved = tuple(Label(place=event.place, text="moved only here") for event in later[:1])
        on_cpu = wrap.on_cpu if not before else before[-1].device == "cpu" and before[-1].when <= wrap.when
        if _names_a_device(devices):
            if on_cpu:
                put = tuple(Label(place=event.place, text="put onto the CPU here") for event in before[-1:])
                yield _fault(wrap, ON_CPU, moved or put)
            elif before and before[-1].when <= wrap.when and _another(before[-1].index, devices):
                message = "device_ids names another GPU than the model is on: inputs go there, and the forward raises"
                yield _fault(wrap, message, (Label(place=before[-1].place, text="the model is put here"),))
        elif on_cpu and is_none(devices) and later and not wrap.synced and trained_after(trace, wrap.wrapper, later[0]):
            refused = any(uses_nccl_alone(init) for init in in_group(trace, wrap))
            yield _fault(wrap, REFUSED if refused else LOST, moved)


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
        named = event.device is not None and event.process in (wrap.process, MAIN)
        if named and event.model in (*wrap.parts, *wrap.inside) and compatible(event.when, wrap.when):
            yield event


def _names_a_device(value: Value | None) -> bool:
    """Whether ``device_ids`` is certainly a list of something."""
    if isinstance(value, Constant):
        return isinstance(value.value, tuple) and len(value.value) == 1
    return isinstance(value, Unknown) and value.why == "items"


def _another(index: Value | None, devices: Value | None) -> bool:
    """Whether a device is another one than that in ``device_ids``, which the code says: on some ranks at least."""
    if not isinstance(devices, Constant) or not isinstance(devices.value, tuple):
        return False
    if isinstance(index, Symbol) and index.expression is not None and "guessed" not in index.taint:
        numbers = {evaluate(index.expression, member) for member in WORLDS["torchrun"]}
        return UNKNOWN not in numbers and len(numbers) > 1 and len(devices.value) == 1
    if not isinstance(index, Constant):
        return False
    return all(isinstance(one, int) for one in (index.value, *devices.value)) and index.value not in devices.value


CHECK = Check(
    name="wrapped-before-move",
    summary="a model is wrapped for a GPU while it is on the CPU or on another GPU",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ModelWrapped,),
    predict=wrapped_where_the_model_is_not,
)

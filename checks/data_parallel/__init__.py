"""``nn.DataParallel``: one process for all GPUs, as a way of training on several or as the way that is left."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import DATA_PARALLEL, ModelWrapped
from ddpdoctor.facts import replicas
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant


def one_process_for_all_gpus(trace: Predicted) -> Iterator[Fault]:
    """Find what wraps a model in DataParallel, or in a subclass of it, each place once."""
    told = set()
    for event in trace.of(ModelWrapped):
        place = event.wrapper.place
        if event.how != DATA_PARALLEL or place in told or _has_one_gpu(event):
            continue
        told.add(place)
        otherwise = next((one for one in replicas(trace) if not compatible(one.when, event.when)), None)
        way = "without ranks one process" if otherwise is not None else "one process"
        places = [] if event.place == place else [Label(place=event.place, text="through this")]
        if otherwise is not None:
            places.append(Label(place=otherwise.place, text="the other way"))
        yield Fault(
            place=place,
            message=f"{way} drives all GPUs: every step copies the model to each and gathers the outputs on the first",
            places=tuple(places),
            about=event.wrapper,
            event=event,
            fix=Fix(description="wrap it in DistributedDataParallel and start with torchrun, on one machine too"),
        )


def _has_one_gpu(event: ModelWrapped) -> bool:
    """Whether it gets one device only: then it calls the model as it is."""
    devices = event.options.get("device_ids")
    return isinstance(devices, Constant) and isinstance(devices.value, tuple) and len(devices.value) == 1


CHECK = Check(
    name="data-parallel",
    summary="nn.DataParallel: one process drives all GPUs",
    severity=Severity.NOTE,
    layers=("source",),
    triggers=(ModelWrapped,),
    predict=one_process_for_all_gpus,
)

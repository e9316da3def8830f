"""SyncBatchNorm layers in a model whose parameters are on the CPU: DDP's constructor raises."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import MAIN, ModelMoved, ModelWrapped
from ddpdoctor.facts import replicas
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import is_none

DDP = "torch.nn.parallel.DistributedDataParallel"


def synced_layers_are_on_the_cpu(trace: Predicted) -> Iterator[Fault]:
    """Find wraps of models with SyncBatchNorm layers that nothing has put onto a GPU by then."""
    for wrap in replicas(trace):
        if not trace.complete or wrap.how != DDP or wrap.synced is None or not _is_on_the_cpu(trace, wrap):
            continue
        if not is_none(wrap.options.get("device_ids")):
            continue
        yield Fault(
            place=wrap.place,
            message="this model has SyncBatchNorm layers on the CPU: DDP raises 'only work with GPU modules'",
            places=(*callers(wrap), Label(place=wrap.synced, text="the layers")),
            about=wrap.wrapper,
            event=wrap,
            fix=Fix(description="move the model to the rank's GPU before the wrap, or convert only where there is one"),
        )


def _is_on_the_cpu(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether the last thing that can have moved the model, if any, put it onto the CPU."""
    moves = [
        event
        for event in trace.of(ModelMoved)
        if event.device is not None and event.order < wrap.order and event.process in (wrap.process, MAIN)
    ]
    own = [event for event in moves if event.model in (*wrap.parts, *wrap.inside) and compatible(event.when, wrap.when)]
    if own and own[-1].device == "cpu" and own[-1].when <= wrap.when:
        return True
    return wrap.on_cpu is True and not own


CHECK = Check(
    name="sync-batchnorm-on-cpu",
    summary="a model with SyncBatchNorm layers is wrapped while it is on the CPU",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ModelWrapped,),
    predict=synced_layers_are_on_the_cpu,
)

"""Objects of libraries that add up a metric over the batches of an evaluation."""

from ddpdoctor.reader.abstract import NONE, Abstract, Opaque, is_none
from ddpdoctor.reader.arguments import of_batches
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import put_together
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

METERS = ("timm.utils.AverageMeter", "timm.utils.metrics.AverageMeter")
"""Running averages that each rank has by itself."""
NUMBERS = ("avg", "sum", "val")


def _counted(walk: Walk, call: Call) -> Abstract | None:
    """``meter.update(value, n)``: what the meter then says comes from the value."""
    meter = call.receiver
    if not isinstance(meter, Made) or not call.args:
        return None
    for name in NUMBERS:
        write(meter.attributes, name, walk.path, Opaque(f"{text(meter)}.{name}", call.args[0].tags))
    return NONE


def _added(walk: Walk, call: Call) -> Abstract | None:
    """``metric.add_batch(predictions=…, references=…)``: kept until the metric is computed."""
    metric = call.receiver
    if not isinstance(metric, Made):
        return None
    metric.tags |= of_batches(call.flow())
    return NONE


def _computed(walk: Walk, call: Call) -> Abstract | None:
    """``metric.compute()``: of what was added on this rank alone, unless it was told how many processes there are."""
    metric = call.receiver
    if not isinstance(metric, Made):
        return None
    tags = of_batches(metric.tags | call.flow())
    metric.tags -= tags
    alone = is_none(metric.kwargs.get("num_process")) and not metric.open
    return Opaque(f"{text(metric)}.compute()", tags if alone else put_together(tags))


LIBRARY = ("evaluate.load", "evaluate.combine", "datasets.load_metric")
"""Metrics that come by their name: evaluate/module.py gathers through files, and only with ``num_process``."""
METHODS = {
    **{f"{meter}.update": _counted for meter in METERS},
    **{f"{metric}.{name}": _added for metric in LIBRARY for name in ("add", "add_batch")},
    **{f"{metric}.compute": _computed for metric in LIBRARY},
}

"""Objects of libraries that add up a metric over the batches of an evaluation."""

from ddpdoctor.reader.abstract import NONE, Abstract, Opaque
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Call, Walk

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


METHODS = {f"{meter}.update": _counted for meter in METERS}

"""What is done to the gradients around the backward: averaging put off, scaling, clipping, zeroing."""

from ddpdoctor.atom import Formula
from ddpdoctor.events.base import Event
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value


class SyncSwitched(Event):
    """P: whether a wrapper averages gradients is switched, ``by`` ``no_sync`` or by writing an attribute."""

    model: Value
    by: str


class GradientsZeroed(Event):
    """P: gradients are set to zero or to ``None``; ``of`` is the optimiser or model that was asked to."""

    of: Value = UNKNOWN_VALUE


class ScalerBuilt(Event):
    """P: a gradient scaler is made; ``enabled`` is the formula under which it scales at all."""

    scaler: Ref
    enabled: Formula = True


class Unscaled(Event):
    """P: gradients are divided by a scaler's scale again, or the script reads the scale to do so itself (``by``)."""

    scaler: Value = UNKNOWN_VALUE
    by: str = "unscale_"


class GradientsClipped(Event):
    """P: gradients are cut to a limit, ``by`` which call."""

    by: str

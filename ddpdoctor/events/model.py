"""The model: how it is built, wrapped and changed."""

from collections.abc import Mapping
from typing import NamedTuple

from ddpdoctor.events.base import Event
from ddpdoctor.place import Place
from ddpdoctor.value import Ref, Value


class Norm(NamedTuple):
    """A BatchNorm layer: its name in the model where known, its type, where it was made, whether it trains, and (O)
    how many values a channel it saw on a rank in its last training forward.
    """

    name: str
    type: str
    place: Place | None
    trained: bool = True
    values: int | None = None


class SyncBatchNormConverted(Event):
    """P O: ``convert_sync_batchnorm`` is called. ``wrapped``: on an already wrapped model. ``kept``: its return value
    is used. ``root``: the model itself is a BatchNorm, so that only the return value is converted.
    """

    model: Value
    wrapped: bool = False
    kept: bool = True
    root: bool = False


DATA_PARALLEL = "torch.nn.parallel.DataParallel"
"""The wrapper for one process and several GPUs: no rank, no group."""


class ModelWrapped(Event):
    """P O: a model is wrapped for data-parallel training; ``how`` is the wrapper's dotted path.

    ``norms`` are its unconverted BatchNorm layers. P: ``options`` are the keyword arguments. O: the plain ones, and
    ``parameters`` is the number of parameter tensors.
    """

    wrapper: Ref
    model: Value
    how: str
    options: Mapping[str, Value]
    norms: tuple[Norm, ...] = ()
    parameters: int | None = None


class ModelHandedOver(Event):
    """P: a model is given to a framework that wraps it for data-parallel training by itself.

    ``made`` is where the framework's object is configured, and ``norms`` are the model's unconverted BatchNorm layers.
    ``hidden`` is whether the training itself is the framework's too, so that no step of it is seen.
    """

    model: Value
    framework: str
    made: Place
    norms: tuple[Norm, ...] = ()
    hidden: bool = False


class GradientsChanged(Event):
    """P: a parameter's ``.grad`` is given a tensor of the script's own: ``how`` is ``preset`` (before the backward) or
    ``replaced in a hook``; ``layout`` is what is known of that tensor's (``row-major``, ``channels_last`` or
    ``transposed``), and ``differs`` whether that is not the parameter's own.
    """

    model: Value
    how: str
    layout: str | None = None
    differs: bool = False

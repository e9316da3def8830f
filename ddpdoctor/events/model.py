"""The model: how it is built, wrapped and changed."""

from collections.abc import Mapping

from ddpdoctor.events.base import Event
from ddpdoctor.named import NamedTuple
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


class Part(NamedTuple):
    """A part of a model that has parameters: its name in the model, and where it was made."""

    name: str
    place: Place


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

    ``norms`` are its unconverted BatchNorm layers. P: ``options`` are the keyword arguments; ``buffers`` is whether it
    has any, ``synced`` the place of a SyncBatchNorm layer in it, ``idle`` are the parts with parameters that no code of
    the program ever takes in hand, ``unshown`` is whether its forward may leave others out, by calling parts that are
    not known or dropping an output of one, ``parts`` the modules in it, ``inside`` those that it is part of, and
    ``on_cpu`` is whether all of it was certainly made there. O: the plain options, and ``parameters`` is the number of
    parameter tensors.
    """

    wrapper: Ref
    model: Value
    how: str
    options: Mapping[str, Value]
    norms: tuple[Norm, ...] = ()
    parameters: int | None = None
    buffers: bool | None = None
    synced: Place | None = None
    idle: tuple[Part, ...] = ()
    unshown: bool = False
    parts: tuple[Ref, ...] = ()
    inside: tuple[Ref, ...] = ()
    on_cpu: bool = False


class ModelHandedOver(Event):
    """P: a model is given to a framework that wraps it for data-parallel training by itself.

    ``made`` is where the framework's object is configured, and ``norms`` are the model's unconverted BatchNorm layers.
    ``hidden`` is whether the training itself is the framework's too, so that no step of it is seen. ``by_hand``: it is
    no framework, but the program's own collectives that send out the parameters or sum the gradients, in the function
    that ``framework`` names, which is called at ``made``.
    """

    model: Value
    framework: str
    made: Place
    norms: tuple[Norm, ...] = ()
    hidden: bool = False
    by_hand: bool = False


class GradientsChanged(Event):
    """P: a parameter's ``.grad`` is given a tensor of the script's own: ``how`` is ``preset`` (before the backward) or
    ``replaced in a hook``; ``layout`` is what is known of that tensor's (``row-major``, ``channels_last`` or
    ``transposed``), and ``differs`` whether that is not the parameter's own.
    """

    model: Value
    how: str
    layout: str | None = None
    differs: bool = False


class ModelMoved(Event):
    """P: a model is put onto a device, into a type of number or into a memory layout, each ``None`` where not named.

    ``device`` is ``cuda``, ``cpu`` or ``unknown``, and ``index`` the GPU where one is named; ``wrapped`` are the
    wrappers that hold it already.
    """

    model: Ref
    device: str | None = None
    index: Value | None = None
    dtype: str | None = None
    layout: str | None = None
    wrapped: tuple[Ref, ...] = ()


class ModelChanged(Event):
    """P: a model is changed: ``what`` is ``requires_grad`` (to ``value``), ``layer`` (one with parameters is put in),
    ``values`` (parameters are drawn anew), ``layout`` (of parameters, to the layout in ``value``) or ``static graph``
    (a wrapper is told that its graph never varies).

    ``model`` is the module that is changed or has the changed part, ``part`` the part's name where it is no module that
    the source shows, ``inside`` that module and those that it is part of, ``wrapped`` the wrappers that hold it.
    """

    model: Ref
    what: str
    value: Value | None = None
    part: str = ""
    inside: tuple[Ref, ...] = ()
    wrapped: tuple[Ref, ...] = ()


class LayersUsed(Event):
    """P: which modules a wrapper's forward (the one of the ``order`` ``forward``) computed with: ``always`` those that
    it calls in every step of one run, ``sometimes`` those that depend on chance or on the data. Both are whole only
    where the wrapper may look for unused parameters in a forward with gradients; else layers are passed over.
    ``left_out`` are layers with parameters that a module computes with in other forwards, and did not in this one.
    """

    model: Ref
    forward: int
    always: tuple[Ref, ...] = ()
    sometimes: tuple[Ref, ...] = ()
    left_out: tuple[Ref, ...] = ()


class ActivationCheckpoint(Event):
    """P: activations of a module (``model``, where it is known) are thrown away and computed again in the backward.

    ``reentrant`` is ``None`` where that is not known. ``times`` is how often one forward passes the module through it:
    0 where that is not known.
    """

    reentrant: bool | None
    model: Ref | None = None
    times: int = 0

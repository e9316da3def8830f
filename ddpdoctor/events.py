"""The vocabulary of training events that the reader predicts and the harness observes.

Every event says where it happens (``place``, and the calls that led there, outermost first, as ``stack``), in which
process, and in what order. A predicted event has the condition ``when`` it happens, the ``loops`` it is in and the
blocks it is ``within``; an observed one has the ``rank`` that did it and the ``time`` in seconds since the run began.
Each class says which of its fields either side fills: P for predicted, O for observed. An unfilled field is ``None``
or empty. Paths of types are full dotted names with re-exports resolved: ``torch.utils.data.DataLoader``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ddpdoctor.condition import ALWAYS, Condition
from ddpdoctor.place import Place
from ddpdoctor.record import Record
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value

MAIN = "main"
"""The process that runs the script itself; those it starts are ``child 0``, ``child 1`` … by the place of the start."""


class Loop(Record):
    """A loop that an event is in: how it is written, over which loaders, and for how many rounds."""

    place: Place
    kind: str  # for, while, comprehension
    loaders: tuple[Ref, ...] = ()
    rounds: Value | None = None


class Within(NamedTuple):
    """A block that an event is in: ``try``, ``protected`` (a ``try`` with a ``finally``), ``except``, ``catch-all``
    (an ``except`` for whatever goes wrong), ``finally``, ``with``, ``atexit``, ``no_grad``, ``no_sync``, ``join``,
    ``autocast``, ``lock`` (a file's, between processes) or ``forward`` (of a wrapped model).
    """

    kind: str
    place: Place


class Event(Record):
    """Something that a training script does."""

    place: Place
    stack: tuple[Place, ...] = ()
    process: str = MAIN
    order: int = 0
    when: Condition = ALWAYS
    loops: tuple[Loop, ...] = ()
    within: tuple[Within, ...] = ()
    rank: int | None = None
    time: float = 0.0

    def is_within(self, *kinds: str) -> bool:
        """Whether the event is in a block of one of the given kinds."""
        return any(block.kind in kinds for block in self.within)


# --- processes and their surroundings ------------------------------------------------------------------------------


class ProcessStarted(Event):
    """P O: a process or a set of them is started; ``child`` is the ``process`` of the events inside it."""

    started: Ref
    method: str  # spawn, fork, forkserver; as far as known
    target: str
    child: str
    count: Value = UNKNOWN_VALUE
    join: Value = UNKNOWN_VALUE
    daemon: Value = UNKNOWN_VALUE


class ProcessJoined(Event):
    """P O: started processes are waited for; ``started`` is ``None`` when it is not known which."""

    started: Ref | None = None


class Ended(Event):
    """O: a rank, or the process that spawned the ranks, came to its end.

    ``how`` is ``natural``, ``exit``, ``exception``, ``killed``, ``cut`` (we stopped it) or ``memory``; ``alive`` counts
    the processes it had started and that still ran; ``said`` is the text that ``sys.exit`` was given.
    """

    how: str
    status: int | None = None
    said: str = ""
    alive: int = 0


class OptionDefined(Event):
    """P: a command-line option is defined by ``flags``."""

    flags: tuple[str, ...]
    default: Value | None = None


class EnvSet(Event):
    """P O: an environment variable is written; ``fallback`` when only if it was not set (``setdefault``)."""

    name: str
    value: Value
    fallback: bool = False


class EnvRead(Event):
    """P: an environment variable is read."""

    name: str


class GroupInit(Event):
    """P O: a process group is initialised; ``backend`` is what the script asked for, redirected or not."""

    backend: Value = UNKNOWN_VALUE
    init_method: Value | None = None
    group_rank: Value | None = None
    world_size: Value | None = None
    device: Value | None = None


class GroupDestroyed(Event):
    """P O: the default process group is destroyed."""


class CudaTouched(Event):
    """P O: a call after which CUDA may be initialised in this process: from then on its visible devices are fixed."""

    by: str


class DeviceSelected(Event):
    """P O: the current CUDA device is set; ``how`` is the call that does."""

    index: Value
    how: str


class DeviceUsed(Event):
    """P O: tensors, a module, a wrapper or a checkpoint go to a device: ``by`` which call; ``index`` is ``None`` when
    the call names no index and so takes the current device.
    """

    index: Value | None
    by: str


class Seeded(Event):
    """P: a random generator is seeded; the value's taint says whether each rank gets a seed of its own."""

    value: Value
    by: str


# --- data ----------------------------------------------------------------------------------------------------------


class DatasetBuilt(Event):
    """P O: a dataset is made. O: ``length`` in samples; ``stand_in`` says what was put in the place of absent data."""

    dataset: Ref
    length: int | None = None
    stand_in: str | None = None


class SamplerBuilt(Event):
    """P O: a sampler is made."""

    sampler: Ref
    dataset: Value = UNKNOWN_VALUE
    replicas: Value | None = None
    sampler_rank: Value | None = None
    shuffle: Value | None = None
    seed: Value | None = None


class LoaderBuilt(Event):
    """P O: a DataLoader is asked for. O: before its constructor judges the arguments, so also when it raises.

    P: ``distributed_samplers`` are the DistributedSamplers that it draws from, directly or through batch samplers and
    the script's own; ``sharded_by`` names what divides its data by rank (``the sampler``, ``the dataset`` …), or is
    ``unknown`` when something that was not followed may.
    """

    loader: Ref
    dataset: Value = UNKNOWN_VALUE
    sampler: Value | None = None
    batch_sampler: Value | None = None
    shuffle: Value | None = None
    batch_size: Value | None = None
    workers: Value | None = None
    persistent_workers: Value | None = None
    distributed_samplers: tuple[Ref, ...] = ()
    sharded_by: str | None = None


class EpochSet(Event):
    """P O: ``set_epoch`` is called on a sampler (or on what forwards it to one)."""

    target: Value
    value: Value = UNKNOWN_VALUE


class EpochBegun(Event):
    """P O: a loader's iterator is made.

    O: ``number`` counts from 1 a loader; ``length`` is the number of batches a whole epoch has; ``indices`` are the
    samples of the whole epoch in order, as indices into the underlying dataset, or ``None`` when they cannot be had.
    ``data`` is a digest of that dataset, with a loader's first epoch and no DistributedSampler: ranks with different
    ones draw other samples by the same indices. It is ``None`` when there is none.
    """

    loader: Ref
    number: int = 0
    length: int | None = None
    indices: Sequence[int] | None = None
    data: str | None = None


class EpochEnded(Event):
    """O: a loader's iterator is exhausted or cut; ``steps`` counts the optimiser steps taken meanwhile."""

    loader: Ref
    number: int
    steps: int
    cut: bool = False


# --- the model -----------------------------------------------------------------------------------------------------


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


class Forward(Event):
    """P O: a model is called. ``via`` is ``wrapper`` (DDP's own forward), ``module`` (what a wrapper holds, reached
    around it) or ``model`` (never wrapped, or before the wrap); ``grad`` whether gradients are recorded, ``training``
    the mode that the model was last put into. O: ``inputs`` is a digest of what a wrapper got, in its first passes.
    """

    model: Value
    via: str
    grad: bool = True
    training: bool | None = None
    inputs: str | None = None


class Backward(Event):
    """P O: a backward pass. P: ``forwards`` are the forwards that its loss came from, by their ``order``, and
    ``batches`` the loaders whose batches did; ``own_part`` is whether a rank's own part of something did (of a batch).
    O: ``reduced`` says whether any wrapper's reducer averaged gradients in it, ``bypassed`` which wrapped models got
    gradients without.
    """

    forwards: tuple[int, ...] = ()
    batches: tuple[Ref, ...] = ()
    own_part: bool = False
    reduced: bool | None = None
    bypassed: tuple[Ref, ...] = ()


class ParameterSeen(NamedTuple):
    """What one backward did to one parameter: sizes and strides in elements, ``bytes`` of its gradient.

    ``raw`` are the strides of the gradient as autograd delivered it, ``grad`` as DDP's reducer found it, ``view`` those
    of its slot in the bucket; ``copied`` whether autograd cloned it into another layout; ``warned`` whether DDP said
    that its strides do not match.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    dense: bool
    raw: tuple[int, ...] | None
    grad: tuple[int, ...] | None
    view: tuple[int, ...]
    copied: bool
    warned: bool
    bytes: int


class GradientsSeen(Event):
    """O: the gradients of one wrapper after one backward; ``step`` counts its backwards from 1."""

    wrapper: Ref
    step: int
    parameters: tuple[ParameterSeen, ...]
    unused: tuple[str, ...] = ()
    digest: str | None = None


class OptimizerStep(Event):
    """P O: an optimiser takes a step."""

    optimizer: Ref | None = None
    number: int = 0


# --- collectives ---------------------------------------------------------------------------------------------------


MEETING = "init_process_group"
"""The operation in which all ranks wait for each other before their first collective."""


class Collective(Event):
    """P O: a collective operation is called; ``device`` is what a barrier's ``device_ids`` name.

    ``origin`` is ``user``, ``reducer`` (DDP's gradients), ``buffers`` (DDP's broadcast of buffers), ``wrap`` (DDP's
    constructor) or ``sync-batchnorm``. P: ``group`` is the process group argument where one is given. O: it is a
    :class:`~ddpdoctor.value.Group`, ``None`` for the default one; ``sequence`` counts a rank's collectives of one group
    from 0, ``shapes`` and ``dtype`` describe its tensors. The default group's first one is ``MEETING``.
    """

    op: str
    origin: str = "user"
    group: Value | None = None
    device: Value | None = None
    sequence: int = -1
    shapes: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""


class Blocked(Event):
    """O: the run was stopped while this rank was at ``place``.

    ``inside`` is the collective it waited in (``None`` when it was in none) and ``seconds`` for how long; ``busy`` when
    it was computing. ``for_ever`` when what it waited for could not come: every rank that was left waited in a
    collective, and none of these could complete.
    """

    inside: Collective | None = None
    seconds: float = 0.0
    busy: bool = False
    for_ever: bool = False


# --- files, failures, frameworks -----------------------------------------------------------------------------------


class FileUsed(Event):
    """P O: a file is used; ``op`` is ``save`` (a checkpoint), ``write`` (anything else), ``load``, ``download`` or
    ``remove``, ``by`` the call.

    P: ``path`` may be a symbol; its taint says whether it depends on the rank.
    """

    op: str
    path: Value
    by: str


class Raised(Event):
    """O: an exception left the user's code on a rank (or a signal ended it). ``ours`` when the innermost frame is the
    tool's own: then it is never the user's fault. ``caused_by_peer`` when it only says that another rank is gone.
    ``foreign`` is the message of the exception that a library or the system raised, this one or the one that the script
    raised it for; ``None`` when the script began it with a ``raise`` of its own. ``missing`` is the module, file or
    argument that the script wanted. ``after_cut`` when it follows an epoch or a loop of which something was left out,
    so that it may have met what it never meets otherwise. ``status`` is the exit status where the script left with one
    that is not 0: ``type`` is then ``SystemExit``, ``os._exit`` or ``exit``, ``message`` what ``sys.exit`` was given.
    """

    type: str
    message: str
    ours: bool = False
    caused_by_peer: bool = False
    foreign: str | None = None
    missing: str | None = None
    after_cut: bool = False
    status: int | None = None


class Trial(Event):
    """O: what happened when an exception was raised on purpose, in a copy of the process, at an optimiser step."""

    what: str  # exception-at-step
    destroyed: bool
    finished: bool


class FrameworkOwns(Event):
    """P: a framework takes over part of the job: ``duties`` among ``group``, ``sampler``, ``epoch``, ``wrap``,
    ``device``, ``save``, ``launch``.
    """

    name: str
    duties: frozenset[str]


class Warned(Event):
    """O: DDP warned of the strides of gradients, in these words."""

    text: str


class Unfollowed(Event):
    """P: a call that was not followed got objects that matter: what it does to them is not known."""

    call: str
    objects: tuple[Ref, ...] = ()


class Unparsed(Event):
    """P: a file does not parse: Python's ``message``, and the likely ``cause`` where one can be told."""

    message: str
    cause: str | None = None


class Substituted(Event):
    """O: the harness put something in the place of what the script asked for: ``what`` was replaced by ``by``."""

    what: str
    by: str


class Cut(Event):
    """O: the harness ended a loop or a run early, or left something out, so that what follows was not observed."""

    what: str
    why: str


KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Event)
}
"""Every kind of event by its name."""

"""Processes and their surroundings: starts and ends, the environment, process groups, devices."""

from ddpdoctor.events.base import Event
from ddpdoctor.place import Place
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value


class ProcessStarted(Event):
    """P O: a process or a set of them is started; ``child`` is the ``process`` of the events inside it.

    P: ``unpicklable`` says what of the target and its arguments pickle cannot take along.
    """

    started: Ref
    method: str  # spawn, fork, forkserver; as far as known
    target: str
    child: str
    count: Value = UNKNOWN_VALUE
    join: Value = UNKNOWN_VALUE
    daemon: Value = UNKNOWN_VALUE
    unpicklable: str = ""


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
    """P: a command-line option is defined by ``flags``; ``written`` is where the first of them stands."""

    flags: tuple[str, ...]
    default: Value | None = None
    written: Place | None = None


ANY_VARIABLE = "*"
"""The name of an environment variable that is not known."""


class EnvSet(Event):
    """P O: an environment variable is written; ``fallback`` when only if it was not set (``setdefault``)."""

    name: str
    value: Value
    fallback: bool = False


class EnvRead(Event):
    """P: an environment variable is read."""

    name: str


class GroupInit(Event):
    """P O: a process group is initialised; ``backend`` is what the script asked for, redirected or not.

    P: ``port`` is the one that the init method or the store names; ``store`` is whether one may be given.
    """

    backend: Value = UNKNOWN_VALUE
    init_method: Value | None = None
    port: Value | None = None
    group_rank: Value | None = None
    world_size: Value | None = None
    device: Value | None = None
    store: bool = False


class GroupAsked(Event):
    """P: the default process group is asked for its rank, size or backend, or for a further group, where none was
    initialised before in the process; ``by`` is the call.
    """

    by: str


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


class FrameworkOwns(Event):
    """P: a framework takes over part of the job: ``duties`` among ``group``, ``sampler``, ``epoch``, ``wrap``,
    ``device``, ``save``, ``launch``.
    """

    name: str
    duties: frozenset[str]

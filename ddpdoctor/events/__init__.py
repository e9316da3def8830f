"""The vocabulary of training events that the reader predicts and the harness observes.

Every event says where it happens (``place``, and the calls that led there, outermost first, as ``stack``), in which
process, and in what order. A predicted event has the condition ``when`` it happens, the ``loops`` it is in and the
blocks it is ``within``; an observed one has the ``rank`` that did it and the ``time`` in seconds since the run began.
Each class says which of its fields either side fills: P for predicted, O for observed. An unfilled field is ``None``
or empty. Paths of types are full dotted names with re-exports resolved: ``torch.utils.data.DataLoader``.
"""

from ddpdoctor.events.base import MAIN, Event, Loop, Within
from ddpdoctor.events.collectives import MEETING, Blocked, Collective, SubgroupMade
from ddpdoctor.events.data import (
    IN_ORDER,
    DatasetBuilt,
    DatasetChanged,
    EpochBegun,
    EpochEnded,
    EpochSet,
    LoaderBuilt,
    LoaderHandedOver,
    SamplerBuilt,
    Seeded,
    WorkerTouchesCuda,
)
from ddpdoctor.events.endings import Cut, LeftLoop, Raised, Substituted, Trial, Unfollowed, Unparsed, Warned
from ddpdoctor.events.files import FileAwaited, FileUsed, ItemTaken, SampleCached, State, StateLoaded
from ddpdoctor.events.gradients import GradientsClipped, GradientsZeroed, ScalerBuilt, SyncSwitched, Unscaled
from ddpdoctor.events.metrics import Reported
from ddpdoctor.events.model import (
    DATA_PARALLEL,
    ActivationCheckpoint,
    GradientsChanged,
    LayersUsed,
    ModelChanged,
    ModelHandedOver,
    ModelMoved,
    ModelWrapped,
    Norm,
    Part,
    SyncBatchNormConverted,
)
from ddpdoctor.events.processes import (
    ANY_VARIABLE,
    CudaTouched,
    DeviceSelected,
    DeviceUsed,
    Ended,
    EnvRead,
    EnvSet,
    FrameworkOwns,
    GroupAsked,
    GroupDestroyed,
    GroupInit,
    OptionDefined,
    ProcessJoined,
    ProcessStarted,
)
from ddpdoctor.events.tracking import TrackerStarted
from ddpdoctor.events.training import Backward, Forward, GradientsSeen, OptimizerStep, ParameterSeen

__all__ = [
    "ANY_VARIABLE",
    "DATA_PARALLEL",
    "IN_ORDER",
    "KINDS",
    "MAIN",
    "MEETING",
    "ActivationCheckpoint",
    "Backward",
    "Blocked",
    "Collective",
    "CudaTouched",
    "Cut",
    "DatasetBuilt",
    "DatasetChanged",
    "DeviceSelected",
    "DeviceUsed",
    "Ended",
    "EnvRead",
    "EnvSet",
    "EpochBegun",
    "EpochEnded",
    "EpochSet",
    "Event",
    "FileAwaited",
    "FileUsed",
    "Forward",
    "FrameworkOwns",
    "GradientsChanged",
    "GradientsClipped",
    "GradientsSeen",
    "GradientsZeroed",
    "GroupAsked",
    "GroupDestroyed",
    "GroupInit",
    "ItemTaken",
    "LayersUsed",
    "LeftLoop",
    "LoaderBuilt",
    "LoaderHandedOver",
    "Loop",
    "ModelChanged",
    "ModelHandedOver",
    "ModelMoved",
    "ModelWrapped",
    "Norm",
    "OptimizerStep",
    "OptionDefined",
    "ParameterSeen",
    "Part",
    "ProcessJoined",
    "ProcessStarted",
    "Raised",
    "Reported",
    "SampleCached",
    "SamplerBuilt",
    "ScalerBuilt",
    "Seeded",
    "State",
    "StateLoaded",
    "SubgroupMade",
    "Substituted",
    "SyncBatchNormConverted",
    "SyncSwitched",
    "TrackerStarted",
    "Trial",
    "Unfollowed",
    "Unparsed",
    "Unscaled",
    "Warned",
    "Within",
    "WorkerTouchesCuda",
]

KINDS: dict[str, type[Event]] = {
    kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Event)
}
"""Every kind of event by its name."""

"""Collective operations, and ranks that wait in one."""

from ddpdoctor.events.base import Event
from ddpdoctor.place import Place
from ddpdoctor.value import Ref, Value

MEETING = "init_process_group"
"""The operation in which all ranks wait for each other before their first collective."""


class Collective(Event):
    """P O: a collective operation is called; ``device`` is what a barrier's ``device_ids`` name.

    ``origin`` is ``user``, ``within`` (P: a call that has collectives in it, and whose name ``op`` is), ``reducer``
    (DDP's gradients), ``buffers`` (DDP's broadcast of buffers), ``wrap`` (DDP's constructor) or ``sync-batchnorm``.
    P: ``group`` is the process group argument where one is given. O: it is a :class:`~ddpdoctor.value.Group`, ``None``
    for the default one; ``sequence`` counts a rank's collectives of one group from 0, ``shapes`` and ``dtype`` describe
    its tensors. The default group's first one is ``MEETING``. P: ``loaders`` are those from whose batches each rank
    computed what it brings; ``on_cpu``: a tensor of it is certainly on the CPU.
    P: ``decided`` is the test by which only some ranks come here, ``left`` whether it sends the others away before.
    """

    op: str
    origin: str = "user"
    group: Value | None = None
    device: Value | None = None
    sequence: int = -1
    shapes: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""
    loaders: tuple[Ref, ...] = ()
    on_cpu: bool = False
    decided: Place | None = None
    left: bool = False


class SubgroupMade(Event):
    """P: a further process group is made by a call that all ranks of the job have to make, members of it or not.

    ``decided`` and ``left`` are as of a collective.
    """

    decided: Place | None = None
    left: bool = False


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

"""Tells a run whose ranks wait for each other in vain from one that is slow."""

from collections.abc import Iterable, Sequence

from ddpdoctor.divergence import Difference, first_difference
from ddpdoctor.events import Collective
from ddpdoctor.named import NamedTuple

ALL_WAIT_SECONDS = 3.0
"""Every rank waits in a collective and nothing moves: a collective on loopback takes milliseconds."""

DECIDED_SECONDS = 1.0
"""The same, and it cannot end: a rank has ended, or two ranks wait in different collectives."""

NATIVE_SECONDS = 10.0
"""On GPUs a waiting rank may burn CPU and its collectives may be in flight, so only the lack of progress counts."""


class RankView(NamedTuple):
    """What is known of a rank at one moment.

    ``inside`` is the collective it waits in; ``still`` the seconds for which it did nothing that can be seen: no event,
    no CPU time, no data read; for one that ended, those since then. ``issued`` are its collectives so far.
    """

    rank: int
    ended: bool
    inside: Collective | None
    still: float
    issued: Sequence[Collective] = ()


def deadlocked(ranks: Sequence[RankView], *, others_still: float, native: bool = False) -> bool:
    """Whether some rank waits in a collective that will not end by itself, as far as can be told.

    ``others_still`` is for how long the processes of the run that are no ranks have done nothing.
    """
    alive = [rank for rank in ranks if not rank.ended]
    waiting = [rank for rank in alive if rank.inside is not None]
    if not waiting:
        return False
    if len(waiting) < len(alive):
        return False  # who sleeps elsewhere, for a process, a file or a lock, may yet come: NCCL waits ten minutes
    decided = len(alive) < len(ranks) or difference(ranks) is not None
    bound = DECIDED_SECONDS if decided else ALL_WAIT_SECONDS
    if native:
        bound = max(bound, NATIVE_SECONDS)
    # An ended rank counts too: what it ended moments ago, its peers may be about to hear of.
    return min(others_still, *(rank.still for rank in ranks)) >= bound


def difference(ranks: Iterable[RankView]) -> Difference | None:
    """Return the first difference between two ranks' collectives of the same group."""
    return first_difference(rank.issued for rank in ranks)

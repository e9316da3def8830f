"""Tells a run whose ranks wait for each other in vain from one that is slow."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ddpdoctor.events import Collective

ALL_WAIT_SECONDS = 3.0
"""Every rank waits in a collective and nothing moves: a collective on loopback takes milliseconds."""

DECIDED_SECONDS = 1.0
"""The same, and it cannot end: a rank has ended, or two ranks wait in different collectives."""

OUTSIDE_SECONDS = 9.0
"""Some ranks wait in a collective and others sleep elsewhere: three times as long, for a lock or a file may come."""

NATIVE_SECONDS = 10.0
"""On GPUs a waiting rank may burn CPU and its collectives may be in flight, so only the lack of progress counts."""

POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv", "recv_anysource", "batch_isend_irecv"})
"""Operations that two ranks make of each other: their order differs between ranks by nature."""

SAME_SHAPES = frozenset({"all_reduce", "allreduce", "broadcast", "reduce"})
"""Collectives that need tensors of one shape on every rank."""


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


class Difference(NamedTuple):
    """The first place where two ranks' collectives of one group differ."""

    first: Collective
    second: Collective


def deadlocked(ranks: Sequence[RankView], *, others_still: float, native: bool = False) -> bool:
    """Whether some rank waits in a collective that will not end by itself, as far as can be told.

    ``others_still`` is for how long the processes of the run that are no ranks have done nothing.
    """
    alive = [rank for rank in ranks if not rank.ended]
    waiting = [rank for rank in alive if rank.inside is not None]
    if not waiting:
        return False
    if len(waiting) < len(alive):
        bound = OUTSIDE_SECONDS
    elif len(alive) < len(ranks) or difference(ranks) is not None:
        bound = DECIDED_SECONDS
    else:
        bound = ALL_WAIT_SECONDS
    if native:
        bound = max(bound, NATIVE_SECONDS)
    # An ended rank counts too: what it ended moments ago, its peers may be about to hear of.
    return min(others_still, *(rank.still for rank in ranks)) >= bound


def difference(ranks: Iterable[RankView]) -> Difference | None:
    """Return the first difference between two ranks' collectives of the same group, the earliest in time."""
    found: list[Difference] = []
    by_group: dict[str, list[list[Collective]]] = {}
    for rank in ranks:
        groups: dict[str, list[Collective]] = {}
        for collective in rank.issued:
            if collective.op not in POINT_TO_POINT:
                groups.setdefault(_group(collective), []).append(collective)
        for group, sequence in groups.items():
            by_group.setdefault(group, []).append(sequence)
    for first, *rest in by_group.values():
        for other in rest:
            pair = next((pair for pair in zip(first, other, strict=False) if not _match(*pair)), None)
            if pair is not None:
                found.append(Difference(*pair))
    return min(found, key=lambda pair: min(pair.first.time, pair.second.time), default=None)


def _group(collective: Collective) -> str:
    return "" if collective.group is None else collective.group.text()


def _match(first: Collective, second: Collective) -> bool:
    if first.op != second.op:
        return False
    if first.op not in SAME_SHAPES:
        return True
    return (first.shapes, first.dtype) == (second.shapes, second.dtype)

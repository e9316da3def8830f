"""Where the ranks' collectives go apart, group by group."""

from collections.abc import Iterable, Sequence

from ddpdoctor.events import Collective
from ddpdoctor.named import NamedTuple
from ddpdoctor.value import Group

POINT_TO_POINT = frozenset(
    {
        "send", "recv", "isend", "irecv", "recv_anysource", "batch_isend_irecv",
        "send_object_list", "recv_object_list",
    }
)  # fmt: skip
"""Operations that two ranks make of each other: their order differs between ranks by nature."""

SAME_SHAPES = frozenset({"all_reduce", "allreduce", "broadcast", "reduce"})
"""Collectives that need tensors of one shape on every rank."""


class Difference(NamedTuple):
    """The first place where two ranks' collectives of one group differ."""

    first: Collective
    second: Collective


def group_of(collective: Collective) -> object:
    """Return what tells a collective's group from all others on every rank; ``None`` for the default group."""
    group = collective.group
    return group.identity if isinstance(group, Group) else None if group is None else group.text()


def by_group(issued: Iterable[Collective]) -> dict[object, list[Collective]]:
    """Return one rank's collectives of each group, in order, without what only two ranks do."""
    groups: dict[object, list[Collective]] = {}
    for collective in issued:
        if collective.op not in POINT_TO_POINT:
            groups.setdefault(group_of(collective), []).append(collective)
    return groups


def first_difference(ranks: Iterable[Sequence[Collective]]) -> Difference | None:
    """Return the first difference between two ranks' collectives of the same group, the earliest in time.

    A rank that has issued fewer than another differs in nothing: it may yet come.
    """
    found: list[Difference] = []
    sequences: dict[object, list[list[Collective]]] = {}
    for issued in ranks:
        for group, sequence in by_group(issued).items():
            sequences.setdefault(group, []).append(sequence)
    for first, *rest in sequences.values():
        for other in rest:
            pair = next((pair for pair in zip(first, other, strict=False) if not _match(*pair)), None)
            if pair is not None:
                found.append(Difference(*pair))
    return min(found, key=lambda pair: min(pair.first.time, pair.second.time), default=None)


def missing_from(collective: Collective, ranks: Sequence[int], issued: Iterable[Collective]) -> tuple[int, ...]:
    """Return the members of a collective's group that have not called it.

    ``ranks`` are those of the run and ``issued`` the collectives of all of them.
    """
    if collective.op in POINT_TO_POINT:
        return ()
    group = collective.group
    members = group.ranks if isinstance(group, Group) else ranks
    counts = dict.fromkeys(members, 0)
    turn = 0
    for other in issued:
        if other.op in POINT_TO_POINT or group_of(other) != group_of(collective) or other.rank is None:
            continue
        counts[other.rank] = counts.get(other.rank, 0) + 1
        if other.rank == collective.rank and other.order <= collective.order:
            turn = counts[other.rank]
    return tuple(rank for rank in members if counts[rank] < turn)


def _match(first: Collective, second: Collective) -> bool:
    if first.op != second.op:
        return False
    if first.op not in SAME_SHAPES:
        return True
    return (first.shapes, first.dtype) == (second.shapes, second.dtype)

"""A deadlock that a run came to and that no other finding accounts for."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Blocked, Collective, Ended, Raised
from ddpdoctor.finding import Fault, Label, Severity, confirmed
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed
from ddpdoctor.value import Ref


def ranks_wait_for_each_other(run: Observed) -> Iterator[Fault]:
    """Report one deadlock at its cause: where the ranks went apart."""
    blocked = run.of(Blocked)
    if not any(event.inside is not None for event in blocked) or _failed(run):
        return
    if run.world_size_asked_for() > len(run.ranks):  # they wait for ranks that were not started, as the layer says
        return
    first = _apart(run) or next(event for event in blocked if event.inside is not None)
    labels = tuple(
        Label(place=event.place, text=f"rank {event.rank} {_doing(event)}")
        for event in blocked
        if event.place != first.place
    )
    ended = [event for event in run.of(Ended) if event.rank is not None and event.how in ("natural", "exit")]
    evidence: dict[str, object] = {f"rank {event.rank}": event.place for event in blocked}
    evidence.update({f"rank {event.rank}": f"ended ({event.how})" for event in ended})
    waiting = [event for event in blocked if event.inside is not None]
    seconds = max(event.seconds for event in waiting)
    yield Fault(
        place=first.place,
        message=_message(run, first),
        places=labels,
        event=first,
        verdict=confirmed(f"no rank made progress for {seconds:.1f} s", *blocked, **evidence),
    )


def _failed(run: Observed) -> bool:
    """Whether a rank failed by itself: then the others wait because of that, and that is what is reported."""
    return any(not event.caused_by_peer for event in run.of(Raised))


def _apart(run: Observed) -> Collective | Blocked | None:
    """Return where the first rank did something else than the others: the first difference of their collectives."""
    sequences = {rank: run.on(rank, Collective) for rank in run.ranks}
    longest = max(map(len, sequences.values()), default=0)
    for i in range(longest):
        here = {rank: sequence[i] for rank, sequence in sequences.items() if i < len(sequence)}
        if len(here) < len(sequences):
            return next(iter(here.values()))
        if len({(event.op, event.shapes, event.dtype, _group(event)) for event in here.values()}) > 1:
            user = [event for event in here.values() if event.origin == "user"]
            return (user or list(here.values()))[0]
    return None


def _message(run: Observed, first: Collective | Blocked) -> str:
    op = _words(first if isinstance(first, Collective) else first.inside)
    missing = [event for event in run.of(Blocked) if event.rank != first.rank]
    gone = [
        event for event in run.of(Ended) if event.rank not in (None, first.rank) and event.how in ("natural", "exit")
    ]
    if missing:
        other = missing[0]
        return f"rank {first.rank} waits in {op} here; rank {other.rank} {_doing(other)} at {_where(other.place)}"
    if gone:
        return f"rank {first.rank} waits in {op} here; rank {gone[0].rank} has ended"
    return f"rank {first.rank} waits in {op} here, and no other rank calls it"


def _group(event: Collective) -> object:
    """Return what tells the group of a collective from others: where it was made, and as which one there."""
    return (event.group.place.spot(), event.group.n) if isinstance(event.group, Ref) else None


def _words(event: Collective | None) -> str:
    """Name a collective, with its group where that is not the default one."""
    if event is None:
        return "a collective"
    if isinstance(event.group, Ref):
        return f"{event.op} of group {event.group.n} (made in line {event.group.place.line})"
    return event.op


def _doing(event: Blocked) -> str:
    if event.inside is not None:
        return f"waits in {_words(event.inside)}"
    return "is computing" if event.busy else "stands still outside any collective"


def _where(place: Place) -> str:
    return f"{place.file}:{place.line}"


CHECK = Check(
    name="hang",
    summary="the ranks of the run waited for each other for ever",
    severity=Severity.ERROR,
    layers=("probe",),
    triggers=(Blocked,),
    observe=ranks_wait_for_each_other,
    consequence=True,
)

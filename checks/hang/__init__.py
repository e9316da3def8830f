"""A deadlock that a run came to and that no other finding accounts for."""

from collections.abc import Iterator, Sequence

from ddpdoctor.atom import Literal
from ddpdoctor.check import Check
from ddpdoctor.condition import literals
from ddpdoctor.divergence import first_difference, missing_from
from ddpdoctor.events import Blocked, Collective, Ended, Event, Raised
from ddpdoctor.finding import Fault, Label, Severity, confirmed
from ddpdoctor.join import same_calls
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed
from ddpdoctor.value import Group

DECIDES = {"rank": "the rank", "data": "its own data"}
"""What can decide a test differently on two ranks, by the kind of the test."""


class Apart(NamedTuple):
    """Where the ranks went apart: the collective that a rank called there and another one did not (yet), the ranks that
    are missing from it, and what one of those called in its place.
    """

    at: Event
    called: Collective
    missing: tuple[int, ...]
    instead: Collective | None = None


def ranks_wait_for_each_other(run: Observed) -> Iterator[Fault]:
    """Report one deadlock at its cause: where the ranks went apart."""
    blocked = [event for event in run.of(Blocked) if event.for_ever]
    if not blocked or _failed(run):
        return
    if run.world_size_asked_for() > len(run.ranks):  # they wait for ranks that were not started, as the layer says
        return
    apart = _apart(run)
    labels = [
        Label(place=event.place, text=f"rank {event.rank} {_doing(event)}")
        for event in blocked
        if event.place != apart.at.place
    ]
    ended = [event for event in run.of(Ended) if event.rank is not None and event.how in ("natural", "exit")]
    evidence: dict[str, object] = {f"rank {event.rank}": event.place for event in blocked}
    evidence.update({f"rank {event.rank}": _end(event) for event in ended})
    yield Fault(
        place=apart.at.place,
        message=_message(run, apart),
        places=(*labels, *_tests(run, apart)),
        event=apart.at,
        verdict=confirmed(_ground(run, apart), *blocked, **evidence),
    )


def _ground(run: Observed, apart: Apart) -> str:
    """Say why the wait has no end."""
    if apart.instead is not None:
        if apart.instead.op == apart.called.op:
            return "they are in different calls of the same group, and neither can complete"
        return f"{apart.called.op} and {apart.instead.op} meet in one group, and neither can complete"
    ended = {event.rank for event in run.of(Ended) if event.how in ("natural", "exit")}
    gone = [rank for rank in apart.missing if rank in ended]
    if gone:
        return f"{_ranks(gone)} ended without calling it"
    if apart.missing:
        return f"{_ranks(apart.missing)} cannot come to it: every rank waits in a collective"
    return "every rank waits in a collective, and none of these completes"


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _end(event: Ended) -> object:
    """Return where a rank ended: a place, or that it came to the end of the script."""
    return event.place if event.how == "exit" and event.place.line else "ended at the end of the script"


def _failed(run: Observed) -> bool:
    """Whether a rank failed by itself: then the others wait because of that, and that is what is reported."""
    return any(not event.caused_by_peer for event in run.of(Raised))


def _apart(run: Observed) -> Apart:
    """Return the first difference of the ranks' collectives; without one, the collective that not all came to."""
    differ = first_difference([run.on(rank, Collective) for rank in run.ranks])
    if differ is not None:
        called, instead = sorted(differ, key=lambda event: event.origin != "user")
        return Apart(called, called, () if instead.rank is None else (instead.rank,), instead)
    waiting = [
        Apart(event, event.inside, missing_from(event.inside, run.ranks, run.of(Collective)))
        for event in run.of(Blocked)
        if event.inside is not None
    ]
    return min(waiting, key=lambda each: (not each.missing, each.called.origin != "user", each.called.time))


def _message(run: Observed, apart: Apart) -> str:
    rank = apart.at.rank
    waits = f"rank {rank} waits in {_words(apart.called)} here"
    blocked = sorted(
        (event for event in run.of(Blocked) if event.rank != rank), key=lambda event: event.rank not in apart.missing
    )
    ends = [event for event in run.of(Ended) if event.rank not in (None, rank) and event.how in ("natural", "exit")]
    gone = sorted(ends, key=lambda event: event.rank not in apart.missing)
    if blocked and not (gone and gone[0].rank in apart.missing and blocked[0].rank not in apart.missing):
        other = blocked[0]
        return f"{waits}; rank {other.rank} {_doing(other)} at {_where(other.place)}"
    if gone:
        return f"{waits}; rank {gone[0].rank} has ended"
    return f"{waits}, and no other rank calls it"


def _tests(run: Observed, apart: Apart) -> Iterator[Label]:
    """Yield, each once, the tests under which only one of the two that went apart does what it did."""
    decided: dict[tuple[Place, str], set[str]] = {}
    seen = [apart.at] if apart.instead is None else [apart.at, apart.instead]
    conditions = [(event, _condition(run, event)) for event in seen]
    for event, condition in conditions:
        others = frozenset[Literal]().union(*(other for theirs, other in conditions if theirs is not event))
        for literal in sorted(literals(condition - others), key=lambda literal: literal.atom.line):
            files = {place.file for place in (event.place, *event.stack)}
            if literal.atom.kind in DECIDES and literal.atom.line and len(files) == 1:
                went = f"rank {event.rank} went on from this test to line {event.place.line}"
                key = Place(event.place.file, literal.atom.line), went
                decided.setdefault(key, set()).add(DECIDES[literal.atom.kind])
    for (place, went), by in decided.items():
        yield Label(place=place, text=f"{went}: {' and '.join(sorted(by))} decided")


def _condition(run: Observed, event: Event) -> frozenset[Literal]:
    """Return under what condition the source has an event happen where it was seen."""
    here = [each for program in run.predicted for each in program if each.place.covers(event.place)]
    exact = [each for each in here if same_calls(each.stack, event.stack)] or here
    return frozenset[Literal].intersection(*(each.when for each in exact)) if exact else frozenset()


def _words(event: Collective) -> str:
    """Name a collective, with its group where that is not the default one."""
    if isinstance(event.group, Group):
        return f"{event.op} of {event.group.text()}"
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

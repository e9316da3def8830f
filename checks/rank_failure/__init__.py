"""An exception that ended a rank of the run: the first cause, not what followed from it."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Blocked, Ended, ModelWrapped, Raised
from ddpdoctor.finding import Fault, Severity, callers, confirmed
from ddpdoctor.trace import Observed

PLACED = frozenset({"SIGSEGV", "SIGFPE", "SIGABRT", "SIGBUS", "SIGILL"})
"""The signals of which Python's faulthandler says where they came."""


def rank_raised(run: Observed) -> Iterator[Fault]:
    """Report the first failure that is the script's own; what the other ranks met afterwards is not reported."""
    own = [event for event in run.of(Raised) if not event.caused_by_peer] or _echoes_of_nothing(run)
    own = [event for event in own if not event.ours and not run.lacked(event)]
    if not own or not _trains(run):
        return
    first = min(own, key=lambda event: event.time)
    if run.may_come_of_the_cut(first):
        return
    ranks = sorted({event.rank for event in own if event.rank is not None and event.place == first.place})
    who = (
        "every rank"
        if len(ranks) == len(run.ranks)
        else f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
        if ranks
        else "the script"
    )
    consequences = [event for event in run.of(Raised) if event is not first]
    yield Fault(
        place=first.place,
        message=f"{who} {_did(first)}",
        places=callers(first, most=3),
        event=first,
        verdict=confirmed(
            f"{who} {_did(first).partition(':')[0]}",
            *own,
            *consequences,
            ranks=ranks,
            exception=first.message or first.type,
            others={f"rank {event.rank}": event.how for event in run.of(Ended) if event.rank not in (*ranks, None)},
        ),
    )


def _echoes_of_nothing(run: Observed) -> list[Raised]:
    """Return the exceptions that tell of other ranks' ends, where no rank came to any other end.

    A rank that waits, left, was killed, or whose exception is accounted for already, is what the others tell of.
    """
    echoes = [event for event in run.of(Raised) if event.caused_by_peer]
    told = {event.rank for event in echoes}
    if run.of(Blocked) or any(event.how != "natural" and event.rank not in told for event in run.of(Ended)):
        return []
    return echoes


def _trains(run: Observed) -> bool:
    """Whether the run came as far as a wrapped model: before that, the run itself could not be made."""
    return bool(run.of(ModelWrapped))


def _did(event: Raised) -> str:
    """Say how a rank failed, as the rest of a sentence."""
    said = _headline(event.message)
    if event.type.startswith("SIG"):
        return f"was killed by {event.type}{'' if event.type in PLACED else ', last seen here'}"
    if event.status is None:
        return f"raised {event.type}: {said}" if said else f"raised {event.type}"
    by = {"SystemExit": " by sys.exit", "os._exit": " by os._exit"}.get(event.type, "")
    return f"ended with status {event.status}{by}: {said}" if said else f"ended with status {event.status}{by}"


def _headline(message: str) -> str:
    line = next((line for line in message.splitlines() if line.strip()), "")
    return line.strip()[:160]


CHECK = Check(
    name="rank-failure",
    summary="the script raises on a rank of the run: the first cause, its place and rank",
    severity=Severity.ERROR,
    layers=("probe",),
    triggers=(Raised,),
    observe=rank_raised,
    consequence=True,
)

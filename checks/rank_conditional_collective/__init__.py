"""A collective that only some ranks reach: they wait in it for ever."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import divides_ranks, literals
from ddpdoctor.events import Blocked, Collective, Event, Raised
from ddpdoctor.facts import completed_by, reaching
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.world import WORLDS


def only_some_ranks_call_it(trace: Predicted) -> Iterator[Fault]:
    """Find collectives under a condition on the rank, at any depth of calls, that nothing completes on the others."""
    collectives = [event for event in trace.of(Collective) if event.origin == "user"]
    for event in collectives:
        world = divides_ranks(event.when)
        if world is None or event.group is not None:
            continue
        if any(_matches(event, other) for other in collectives if other is not event):
            continue
        here = reaching(event.when, WORLDS[world])
        some = _words(sorted(member.rank for member in here), len(WORLDS[world]))
        yield Fault(
            place=event.place,
            message=f"{some} calls {event.op}() here and waits for ever: the others never call it",
            places=tuple(Label(place=place, text="called from here") for place in reversed(event.stack[-4:])),
            event=event,
            fix=Fix(description=f"call {event.op}() on every rank: take it out of the test on {_test(event)}"),
        )


def _matches(event: Collective, other: Collective) -> bool:
    return other.process == event.process and other.op == event.op and completed_by(event, other)


def _words(ranks: list[int], size: int) -> str:
    if ranks == [0]:
        return "rank 0"
    if ranks == list(range(1, size)):
        return "every rank but 0"
    return "only some ranks"


def _test(event: Collective) -> str:
    tests = sorted({literal.atom.text for literal in literals(event.when) if literal.atom.kind == "rank"})
    return tests[0] if tests else "the rank"


def ranks_went_apart(fault: Fault, run: Observed) -> Verdict:
    """See which ranks called it, and what the others did meanwhile."""
    here = {event.rank: event for event in seen_at(run.of(Collective), fault.place)}
    if not here:
        return not_reached("no rank came to this line")
    absent = [rank for rank in run.ranks if rank not in here]
    consequences = _consequences(run)
    if not absent:
        if not run.of(Blocked) and not consequences:
            return refuted("every rank called it", ranks=sorted(map(_number, here)))
        return not_reached("every rank called it in this run")
    waiting = sorted(map(_number, here))
    blocked = {event.rank: event for event in run.of(Blocked)}
    evidence: dict[str, object] = {"called_by": waiting, "never_called_by": absent}
    evidence.update({f"rank {rank}": blocked[rank].place for rank in run.ranks if rank in blocked})
    names = " and ".join(map(str, waiting))
    others = " and ".join(map(str, absent))
    where = next(
        (f" (it is at {blocked[rank].place.file}:{blocked[rank].place.line})" for rank in absent if rank in blocked), ""
    )
    waits = "waits in" if any(rank in blocked for rank in waiting) else "called"
    return confirmed(f"rank {names} {waits} it; rank {others} never called it{where}", *consequences, **evidence)


def _number(rank: int | None) -> int:
    return -1 if rank is None else rank


def _consequences(run: Observed) -> tuple[Event, ...]:
    return (*run.of(Blocked), *(event for event in run.of(Raised) if event.caused_by_peer))


CHECK = Check(
    name="rank-conditional-collective",
    summary="only some ranks reach a collective: they wait in it for ever",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(Collective,),
    predict=only_some_ranks_call_it,
    judge=ranks_went_apart,
)

"""A loop that a rank leaves by what only it knows, while the others go on in it and wait for it."""

from collections.abc import Iterator

from ddpdoctor.atom import Atom
from ddpdoctor.check import Check
from ddpdoctor.events import Collective, LeftLoop
from ddpdoctor.facts import is_distributed, is_rank_process, owned
from ddpdoctor.facts.apart import divided_by_rank, kept_by_the_others, meets_in, own_tests
from ddpdoctor.facts.ranks import runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted


def left_alone(trace: Predicted) -> Iterator[Fault]:
    """Find the ways out of a loop with collectives in it that only some ranks take, or each in its own time."""
    if not is_distributed(trace) or owned(trace, "wrap"):
        return
    told: set[Atom] = set()
    ending = _what_ends_the_program(trace)
    for event in trace.of(LeftLoop):
        if event.how in ("continue", "end") or not is_rank_process(trace, event) or not runs_distributed(event):
            continue
        decides = event.when - event.since
        by_rank = divided_by_rank(decides)
        if by_rank is not None and _left_by_the_others(trace, event, by_rank):
            by_rank = None
        own = [test for test in own_tests(trace, decides) if test not in ending]
        kept = None if by_rank is not None or own else kept_by_the_others(trace, event, decides)
        tests = [one for one in (by_rank, kept) if one is not None and one not in ending] or own
        if not tests or told & set(tests):
            continue
        meeting = meets_in(trace, event.loop, event.process)
        if meeting is None:
            continue
        told |= {*tests, *own}
        waits = f"{meeting.op}()" if isinstance(meeting, Collective) else "the next backward's all-reduce"
        yield Fault(
            place=event.place,
            message=f"{_who(by_rank, own)}, and the others wait for it in {waits} for ever",
            places=(
                *(Label(place=place, text="decided here") for place in _decided(event, by_rank, tests[0])),
                Label(place=meeting.place, text="the others wait here"),
            ),
            confidence=Confidence.MEDIUM if by_rank is None and own and "file" in own[0].local else Confidence.HIGH,
            event=event,
            fix=Fix(description="share the decision first: all_reduce it with ReduceOp.MAX, or broadcast rank 0's"),
        )


def _decided(event: LeftLoop, by_rank: Atom | None, test: Atom) -> Iterator[Place]:
    """Yield where it was decided: a test on the rank can stand in many places."""
    place = event.decided if by_rank is not None and event.decided is not None else test.place
    if place is not None:
        yield place


def _what_ends_the_program(trace: Predicted) -> set[Atom]:
    """Return the tests by which a rank raises: who goes on from there has not, and is not told apart by them."""
    ends = [event for event in trace.of(LeftLoop) if event.how == "end"]
    decided = {one.atom for event in ends for one in event.when - event.since if one.atom.kind in ("data", "other")}
    return decided | {test for event in ends for test in own_tests(trace, event.when - event.since)}


def _left_by_the_others(trace: Predicted, left: LeftLoop, test: Atom) -> bool:
    """Whether the other ranks leave a loop in the same line: what they go through there is another, such as a bar."""
    others = {literal.opposite() for literal in left.when if literal.atom == test}
    alike = [one for one in trace.of(LeftLoop) if one.place == left.place and one.loop.place == left.loop.place]
    return any(others & one.when for one in alike)


def _who(by_rank: Atom | None, own: list[Atom]) -> str:
    if by_rank is not None:
        return "only some ranks leave this loop here"
    if not own:
        return "a rank leaves this loop by what only it has written"
    reasons = {"clock": "its own clock", "file": "when it sees the file", "signal": "when the signal comes to it"}
    reason = next((reasons[one] for one in reasons for atom in own if one in atom.local), "its own part of the data")
    return f"a rank leaves this loop by {reason}" if reason.startswith("its") else f"a rank leaves this loop {reason}"


CHECK = Check(
    name="rank-divergent-exit",
    summary="a rank leaves a loop by what only it knows: the others go on and wait for it",
    severity=Severity.ERROR,
    layers=("source",),
    waits=True,
    triggers=(LeftLoop,),
    predict=left_alone,
)

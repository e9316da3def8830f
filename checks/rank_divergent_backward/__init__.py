"""A backward that a rank leaves out by what only it knows, while the others wait for it in theirs."""

from collections.abc import Iterator

from ddpdoctor.atom import Atom, Condition
from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, assume, literals, negation, together
from ddpdoctor.events import Backward, Event, Forward, LeftLoop, ModelWrapped
from ddpdoctor.facts import is_distributed, is_rank_process, owned
from ddpdoctor.facts.apart import divided_by_rank, is_a_missing_batch, own_tests
from ddpdoctor.facts.ranks import runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import divides_ranks
from ddpdoctor.value import is_none


def backward_left_out(trace: Predicted) -> Iterator[Fault]:
    """Find what comes between a rank and the backward of a round that the other ranks go through."""
    if not is_distributed(trace) or owned(trace, "wrap"):
        return
    grouped = {wrap.wrapper for wrap in trace.of(ModelWrapped) if not is_none(wrap.options.get("process_group"))}
    wrapped = (one for one in trace.of(Forward) if one.via == "wrapper" and one.grad)
    forwards = {one.order: one for one in wrapped if one.model not in grouped}
    backwards = [
        one for one in trace.of(Backward) if forwards.keys() & set(one.forwards) and not one.is_within("no_grad")
    ]
    told: set[object] = set()
    for skip, tests, backward in (
        *_skipped_rounds(trace, backwards),
        *_skipped_backwards(trace, forwards, backwards),
    ):
        if not is_rank_process(trace, backward) or not runs_distributed(backward) or told & set(tests):
            continue
        told.update(tests)
        yield _fault(skip, tests, backward)


def _skipped_rounds(trace: Predicted, backwards: list[Backward]) -> Iterator[tuple[Event, list[object], Backward]]:
    """Yield the ``continue`` before a backward, with what decides it."""
    for skip in trace.of(LeftLoop):
        of_the_loop = [one for one in backwards if skip.loop in one.loops and one.process == skip.process]
        if skip.how != "continue" or not of_the_loop:
            continue
        failed = [one for one in of_the_loop if _can_fail_before(skip, one)]
        if failed:
            yield skip, [failed[0].place], failed[0]
            continue
        following = [one for one in of_the_loop if one.order > skip.order]
        instead = [one for one in of_the_loop if one.order < skip.order and together(one.when, skip.when) is not None]
        if not following or instead:
            continue
        decides = skip.when - skip.since
        told = literals([as_formula(decides)]) if skip.loop.loaders else ()
        missing = (literal.atom for literal in told if is_a_missing_batch(literal.atom))
        by_rank = divided_by_rank(decides) if divides_ranks(following[0].when) is None else None
        tests: list[object] = [*own_tests(trace, decides), *missing] or ([by_rank] if by_rank is not None else [])
        if tests:
            yield skip, tests, following[0]


def _can_fail_before(skip: LeftLoop, backward: Backward) -> bool:
    """Whether a round is left after an exception of the step that has a backward: out of memory on one rank."""
    if not skip.is_within("failed-step", "catch-all"):
        return False
    handled = {block.place for block in skip.within if block.kind == "except"}
    return any(block.kind == "try" and block.place in handled for block in backward.within)


def _skipped_backwards(
    trace: Predicted, forwards: dict[int, Forward], backwards: list[Backward]
) -> Iterator[tuple[Event, list[object], Backward]]:
    """Yield the forwards whose backward stands under a test that a rank can fail alone."""
    ends = [one for one in trace.of(LeftLoop) if one.how != "continue"]
    for forward in forwards.values():
        own = [one for one in backwards if forward.order in one.forwards]
        if not own or not forward.loops:
            continue
        left: Condition | None = forward.when
        same_loop = [one for one in backwards if one.loops == own[0].loops and one.order > forward.order]
        gone = [end.when for end in ends if forward.order < end.order and end.process == forward.process]
        for when in (*_conditions(same_loop, forward), *gone):
            if left is not None:
                left = assume(left, negation(as_formula(when - forward.when)))
        around = {place.file for place in (own[0].place, *own[0].stack)}
        tests = list(own_tests(trace, left - forward.when)) if left is not None else []
        near: list[object] = [test for test in tests if test.place is not None and test.place.file in around]
        by_rank = (
            divided_by_rank(left - forward.when) if left and not near and not divides_ranks(forward.when) else None
        )
        near += [by_rank] if by_rank is not None else []
        if near:
            yield own[0], near, own[0]


def _conditions(backwards: list[Backward], forward: Forward) -> Iterator[Condition]:
    """Yield the conditions of the backwards of a loop; what several of one line have in common is that of the line.

    Which of several values the loss is does not decide whether it has a backward.
    """
    lines: dict[tuple[Place, tuple[Place, ...]], list[Condition]] = {}
    for one in backwards:
        if one.process == forward.process:
            lines.setdefault((one.place, one.stack), []).append(one.when)
    for conditions in lines.values():
        yield frozenset.intersection(*conditions)


def _fault(skip: Event, tests: list[object], backward: Backward) -> Fault:
    first = tests[0]
    by_rank = isinstance(first, Atom) and first.kind == "rank"
    decided = first.place if isinstance(first, Atom) else None
    if by_rank and isinstance(skip, (Backward, LeftLoop)):
        decided = skip.decided
    data = "by its number" if by_rank else "by its own data"
    why = data if isinstance(first, Atom) else "after an exception of its own"
    fix = "all_reduce the decision first, so that every rank skips the batch, or none does"
    return Fault(
        place=skip.place,
        message=f"a rank that leaves this backward out {why} is a step behind the others: their all-reduce "
        "is paired with its next one, and at the end they wait for one that never comes",
        places=(
            *((Label(place=decided, text="decided here"),) if decided is not None else ()),
            *((Label(place=backward.place, text="the backward that is left out"),) if skip is not backward else ()),
        ),
        confidence=Confidence.HIGH if isinstance(first, Atom) else Confidence.MEDIUM,
        event=skip,
        fix=Fix(description="let every rank skip the batch, or none" if by_rank else fix),
    )


CHECK = Check(
    name="rank-divergent-backward",
    summary="a rank leaves out a backward by what only it knows: the others' all-reduce gets its next one",
    severity=Severity.ERROR,
    layers=("source",),
    waits=True,
    triggers=(Backward,),
    predict=backward_left_out,
)

"""Steps that are taken with gradients that no rank has averaged, and ``no_sync()`` that puts nothing off."""

from collections.abc import Iterator, Mapping
from itertools import product, zip_longest
from typing import TypeAlias

from ddpdoctor.atom import Atom, Formula
from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, literals
from ddpdoctor.events import (
    Backward,
    Collective,
    Event,
    Forward,
    GradientsZeroed,
    Loop,
    ModelWrapped,
    OptimizerStep,
    SyncSwitched,
)
from ddpdoctor.facts.rounds import MANY, Round, constants_in, counts, holds_in, names_in, numbers_of, rounds_in
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Ref

MAX_FREE = 5
"""Of how many tests both outcomes are tried; with more nothing is said."""
STEADY = ("configuration", "world", "rank")
"""The kinds of tests that turn out the same in every round."""


def step_without_averaging(trace: Predicted) -> Iterator[Fault]:
    """Find the wrappers of which a step comes right after a backward that was not averaged, and useless blocks."""
    told: set[Place] = set()
    for wrap in trace.of(ModelWrapped):
        forwards = [one for one in trace.of(Forward) if one.model == wrap.wrapper and one.grad and one.via == "wrapper"]
        loops = dict.fromkeys(one.loops[-1] for one in forwards if one.synced is not True and one.loops)
        for loop in loops:
            fault = _wrong_step(trace, wrap, forwards, loop)
            if fault is not None and fault.place not in told:
                told.add(fault.place)
                yield fault
        for place, backward in _backwards_only(trace, wrap, forwards) if "FullyShard" not in wrap.how else ():
            if place not in told:
                told.add(place)
                yield _useless(place, backward)


def _backwards_only(trace: Predicted, wrap: ModelWrapped, forwards: list[Forward]) -> Iterator[tuple[Place, Backward]]:
    """Yield the no_sync blocks that hold a backward whose forward was outside."""
    for backward in trace.of(Backward):
        own = [one for one in forwards if one.order in backward.forwards]
        blocks = {block.place for block in backward.within if block.kind == "no_sync"}
        blocks = {place for place in blocks if _is_of(trace, wrap, place)}
        if own and blocks and all(one.synced is True and not one.is_within("no_sync") for one in own):
            yield min(blocks), backward


def _is_of(trace: Predicted, wrap: ModelWrapped, place: Place) -> bool:
    """Whether a no_sync block is of a certain wrapper, and of no other."""
    switched = [one for one in trace.of(SyncSwitched) if one.place == place] or trace.of(SyncSwitched)
    return all(one.model == wrap.wrapper for one in switched)


def _useless(place: Place, backward: Backward) -> Fault:
    return Fault(
        place=place,
        message="no_sync() holds the backward but not the forward, where DDP asks whether to average: every one of "
        "these backwards averages all the same",
        severity=Severity.NOTE,
        places=(Label(place=backward.place, text="the backward"),),
        event=backward,
        fix=Fix(description="run the forward inside no_sync() as well"),
    )


def _wrong_step(trace: Predicted, wrap: ModelWrapped, forwards: list[Forward], loop: Loop) -> Fault | None:
    """Return the fault of a loop whose rounds are gone through, in each way that its tests can turn out."""
    events = list(_events_of(trace, wrap, forwards, loop))
    steps = [event for event in events if isinstance(event, OptimizerStep)]
    by_order = {one.order: one for one in forwards}
    formulas = [as_formula(event.when) for event in (*events, *forwards)] + [one.synced for one in forwards]
    free = _free(formulas, loop)
    if not steps or free is None or _averaged_by_hand(trace, events):
        return None
    size = max((one for formula in formulas for one in constants_in(formula) if one <= MANY), default=0)
    even = ((size, size), (size, 2 * size), (size, 3 * size)) if size > 1 else ((2, 2), (3, 3), (2, 4), (3, 6))
    uneven = ((size, 2 * size + 1), (size, 4 * size - 1)) if size > 1 else ((2, 5), (3, 7))
    ways = range(numbers_of(loop))
    always = {one.atom: one.holds for one in frozenset.intersection(*(event.when for event in (*events, *forwards)))}
    for answers in product(*((always[atom],) if atom in always else (True, False) for atom in free)):
        settled = dict(zip(free, answers, strict=True))
        wrong = _wrong_in_all(_gone_through(events, by_order, loop, *one, way, settled) for one in even for way in ways)
        if wrong is not None:
            return _fault(trace, wrap, *wrong, short=False)
        wrong = _wrong_in_all(
            _gone_through(events, by_order, loop, *one, way, settled) for one in uneven for way in ways
        )
        if wrong is not None and _is_for_the_rest(wrong[1], steps, loop):
            return _fault(trace, wrap, *wrong, short=True)
    return None


Wrong: TypeAlias = tuple[Backward, OptimizerStep] | None
"""A step that comes right after a backward that was not averaged, with that backward."""


def _wrong_in_all(cases: Iterator[Wrong]) -> Wrong:
    """Return what is wrong in the first case where something is in each of them; the first one without ends it."""
    first: Wrong = None
    for wrong in cases:
        if wrong is None:
            return None
        first = first or wrong
    return first


def _events_of(trace: Predicted, wrap: ModelWrapped, forwards: list[Forward], loop: Loop) -> Iterator[Event]:
    """Yield the wrapper's backwards, steps and zeroings in a loop, and the first steps after it."""
    orders = {one.order for one in forwards}
    own = {wrap.wrapper, *([wrap.model] if isinstance(wrap.model, Ref) else [])}
    inside = [one for one in forwards if loop in one.loops]
    outer = inside[0].loops[: inside[0].loops.index(loop)]
    for event in trace:
        if event.process != inside[0].process:
            continue
        within = loop in event.loops
        if isinstance(event, Backward) and within and orders & set(event.forwards) and not event.is_within("no_grad"):
            yield event
        elif isinstance(event, OptimizerStep) and (not event.models or own & set(event.models)):
            if within or (event.loops == outer and event.order > inside[0].order):
                yield event
        elif isinstance(event, GradientsZeroed) and within and _may_be_of(event, own):
            yield event


def _may_be_of(event: GradientsZeroed, own: set[Ref]) -> bool:
    return not isinstance(event.of, Ref) or event.of in own or "optim" in event.of.type


def _free(formulas: list[Formula], loop: Loop) -> list[Atom] | None:
    """Return the tests whose outcome is not known and the same in every round; ``None`` where one may change."""
    found: dict[Atom, None] = {}
    for literal in literals(formulas):
        atom = literal.atom
        if holds_in(literal, Round(loop.place, 1, 2, 4)) is not None:
            continue
        if any(counts(literal)) or (atom.kind == "other" and "(" in atom.text):
            return None
        found[atom] = None
    return list(found) if len(found) <= MAX_FREE else None


def _averaged_by_hand(trace: Predicted, events: list[Event]) -> bool:
    """Whether the script itself calls a collective that can average between the first backward and the last step."""
    first, last = events[0].order, events[-1].order
    around = {loop.place for event in events for loop in event.loops}
    return any(
        first < event.order < last and "reduce" in event.op and around & {loop.place for loop in event.loops}
        for event in trace.of(Collective)
        if event.origin == "user"
    )


def _gone_through(
    events: list[Event],
    forwards: Mapping[int, Forward],
    loop: Loop,
    size: int,
    length: int,
    way: int,
    settled: Mapping[Atom, bool],
) -> Wrong:
    """Return the first step that comes right after a backward that was not averaged, with that backward."""
    last: tuple[Backward, bool] | None = None
    number = rounds_in(loop, size, length, way)
    if number is None:
        return None
    inside = [event for event in events if loop in event.loops]
    after = [event for event in events if loop not in event.loops]
    held: dict[tuple[Formula, int], bool | None] = {}

    def holds(formula: Formula, at: Round) -> bool:
        key = formula, at.number
        if key not in held:
            held[key] = holds_in(formula, at)
        return held[key] is True

    for i, event in [(i, event) for i in range(number) for event in inside] + [(number, event) for event in after]:
        at = Round(loop.place, i, size, length, settled)
        if not holds(as_formula(event.when), at):
            continue
        if isinstance(event, Backward):
            own = [forwards[order] for order in event.forwards if order in forwards]
            now = [one for one in own if holds(as_formula(one.when), at)]
            if now:
                last = event, any(holds(one.synced, at) for one in now)
        elif isinstance(event, GradientsZeroed):
            last = None
        elif isinstance(event, OptimizerStep):
            if last is not None and not last[1]:
                return last[0], event
            last = None
    return None


def _is_for_the_rest(step: OptimizerStep, steps: list[OptimizerStep], loop: Loop) -> bool:
    """Whether a step is there for the batches that are left over at the end of the epoch."""
    if loop not in step.loops:
        return any(loop in other.loops for other in steps)
    return any(name.startswith("len(") for name in names_in(as_formula(step.when)))


def _fault(trace: Predicted, wrap: ModelWrapped, backward: Backward, step: OptimizerStep, *, short: bool) -> Fault:
    forward = next(one for one in trace.of(Forward) if one.order in backward.forwards and one.synced is not True)
    blocks = [block.place for block in forward.within if block.kind == "no_sync"]
    written = [one.place for one in trace.of(SyncSwitched) if one.model == wrap.wrapper and one.order < forward.order]
    place = min(blocks) if blocks else written[-1] if written else forward.place
    tests = {atom.place: None for atom in counts(as_formula(forward.when)) if atom.place not in (None, place)}
    when = "the step for the last batches of an epoch, fewer than the others," if short else "the optimiser"
    return Fault(
        place=place,
        message=f"{when} takes gradients whose last backward was not averaged: from there on the ranks' parameters "
        "differ",
        places=(
            Label(place=step.place, text="the step"),
            *(Label(place=test, text="decided here") for test in tests if test is not None),
            *((Label(place=backward.place, text="its last backward"),)),
        ),
        event=forward,
        fix=Fix(description="average exactly where the optimiser steps: one test for both"),
    )


def steps_had_local_gradients(fault: Fault, run: Observed) -> Verdict:
    """See whether the last backward before a step was averaged, or one in a block that holds backwards alone."""
    passes = [each for rank in run.ranks for each in _passes(run, rank)]
    if fault.severity is Severity.NOTE:
        return _averaged_in_the_block(fault, [backward for backward, _ in passes])
    here = [(last, step) for last, step in passes if step is not None and fault.places[0].place.covers(step.place)]
    own = fault.places[-1].place
    local = [(last, step) for last, step in here if last.reduced is False and own.covers(last.place)]
    if local:
        ranks = sorted({step.rank for _, step in local if step.rank is not None})
        return confirmed("a step followed a backward that averaged nothing", backward=local[0][0].place, ranks=ranks)
    if here:
        return not_reached("every step of this run followed a backward that averaged the gradients", steps=len(here))
    return not_reached("no step was taken at this line")


def _passes(run: Observed, rank: int) -> Iterator[tuple[Backward, OptimizerStep | None]]:
    """Yield the backwards of a rank, each with the step that follows before the next one."""
    events = [event for event in run if event.rank == rank and isinstance(event, (Backward, OptimizerStep))]
    for event, following in zip_longest(events, events[1:]):
        if isinstance(event, Backward):
            yield event, following if isinstance(following, OptimizerStep) else None


def _averaged_in_the_block(fault: Fault, backwards: list[Backward]) -> Verdict:
    here = [event for event in backwards if any(label.place.covers(event.place) for label in fault.places)]
    averaged = [event for event in here if event.reduced]
    if averaged:
        return confirmed("a backward inside no_sync() averaged the gradients", backward=averaged[0].place)
    if here:
        return refuted("no backward inside no_sync() averaged anything", backward=here[0].place)
    return not_reached("no backward was reached inside this block")


CHECK = Check(
    name="misplaced-no-sync",
    summary="the optimiser steps after a backward that no_sync() kept from being averaged",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(SyncSwitched,),
    predict=step_without_averaging,
    judge=steps_had_local_gradients,
)

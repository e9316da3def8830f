"""Whether a formula holds: on a rank of a launch world, or when the user gives no options."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product

from ddpdoctor.atom import AllOf, Atom, Condition, Formula, Literal
from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.memory import remembered
from ddpdoctor.world import UNKNOWN, WORLDS, Member, evaluate


@remembered(50_000)
def holds_for(formula: Formula, member: Member) -> bool | None:
    """Whether a formula holds on one rank of a launch world; ``None`` when that cannot be told."""
    return worth(formula, lambda atom: _worth_on(atom, member))


def holds_by_default(formula: Formula) -> bool | None:
    """Whether a formula holds when the user gives no options; ``None`` when that cannot be told.

    What no option decides (ranks, data, unknown values) is left open.
    """
    return worth(formula, _worth_by_default)


def worth(formula: Formula, of_atom: Callable[[Atom], bool | None]) -> bool | None:
    """Return a formula's value, three-valued, given that of its atoms."""
    if isinstance(formula, Literal):
        found = of_atom(formula.atom)
        return None if found is None else found is formula.holds
    if not isinstance(formula, AllOf):
        return formula
    answer: bool | None = True
    for part in formula.parts:
        one = worth(part, of_atom)
        if one is False:
            return False
        if one is None:
            answer = None
    return answer


@remembered(50_000)
def _worth_on(atom: Atom, member: Member) -> bool | None:
    if atom.definition is not None:
        return _any(_all(holds_for(part, member) for part in alternative) for alternative in atom.definition)
    value = UNKNOWN if atom.expression is None else evaluate(atom.expression, member)
    return None if value is UNKNOWN else bool(value)


@remembered(50_000)
def _worth_by_default(atom: Atom) -> bool | None:
    if atom.definition is None:
        return atom.by_default
    return _any(_all(holds_by_default(part) for part in alternative) for alternative in atom.definition)


def _all(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return False if False in seen else None if None in seen else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    seen = set(answers)
    return True if True in seen else None if None in seen else False


@remembered(10_000)
def divides_ranks(condition: Condition) -> str | None:
    """Return the first launch world in which only some ranks can meet a condition, or ``None``."""
    formula = as_formula(condition)
    for name, world in WORLDS.items():
        left_out = [
            member for member in world if holds_for(formula, member) is False or _is_shut_out(condition, member)
        ]
        if left_out and len(left_out) < len(world):
            return name
    return None


@remembered(10_000)
def one_rank_meets(first: Condition, second: Condition) -> bool:
    """Whether one rank of some launch world can meet both of two conditions."""
    if not compatible(first, second):
        return False
    both = as_formula(first), as_formula(second)
    return any(
        all(holds_for(formula, member) is not False for formula in both)
        for world in WORLDS.values()
        for member in world
    )


def _is_shut_out(condition: Condition, member: Member) -> bool:
    """Whether a rank meets a condition in no case, whatever the tests in it are that cannot be told.

    ``distributed`` and ``distributed and rank == 0 or not distributed`` let no other rank in, unknown as the option is.
    """
    mixed = [one for one in condition if one.atom.definition is not None and _asks_for_rank(one.atom)]
    if not mixed:
        return False
    told_by: frozenset[Atom] = frozenset().union(*(_leaves(one.atom) for one in mixed))
    there = [one for one in condition if _leaves(one.atom) <= told_by]
    unknown = [atom for atom in told_by if _worth_on(atom, member) is None]
    if len(there) == 1 or len(unknown) > MAX_CASES:
        return False
    cases = (dict(zip(unknown, answers, strict=True)) for answers in product((True, False), repeat=len(unknown)))
    return not any(_all(_worth_in(one, case, member) for one in there) for case in cases)


def answered_apart(condition: Condition, given: Condition) -> tuple[Member, frozenset[Atom], frozenset[Atom]] | None:
    """Return a rank that can answer a condition otherwise than the first: by which tests it, and by which the first.

    In every case in which they differ ``given`` holds, and neither asks for nothing.
    """
    mixed = [one for one in condition if one.atom.definition is not None and _asks_for_rank(one.atom)]
    leaves: frozenset[Atom] = frozenset().union(*(_leaves(one.atom) for one in mixed))
    for world in WORLDS.values() if mixed else ():
        unknown = [atom for atom in leaves if any(_worth_on(atom, member) is None for member in world)]
        if len(unknown) > MAX_TRIED:
            return None
        cases = [dict(zip(unknown, answers, strict=True)) for answers in product((True, False), repeat=len(unknown))]
        cases = [case for case in cases if _worth_in(as_formula(given), case, world[0]) is not False]
        whole = AllOf(frozenset(mixed))
        first = [_worth_in(whole, case, world[0]) for case in cases]
        for member in world[1:]:
            other = [_worth_in(whole, case, member) for case in cases]
            if any(one is not another for one, another in zip(first, other, strict=True)):
                return member, _asked(unknown, cases, other), _asked(unknown, cases, first)
    return None


def _asked(unknown: list[Atom], cases: list[dict[Atom, bool]], answers: list[bool | None]) -> frozenset[Atom]:
    """Return the tests on which an outcome depends: with another answer to one of them it is another."""
    outcome = {frozenset(case.items()): answer for case, answer in zip(cases, answers, strict=True)}
    return frozenset(
        atom
        for atom in unknown
        for case, answer in zip(cases, answers, strict=True)
        if outcome.get(frozenset({**case, atom: not case[atom]}.items()), answer) is not answer
    )


MAX_TRIED = 9
MAX_CASES = 6
"""How many tests that cannot be told are tried both ways."""


def _worth_in(formula: Formula, case: Mapping[Atom, bool], member: Member) -> bool | None:
    def of_atom(atom: Atom) -> bool | None:
        if atom.definition is not None:
            return _any(_all(worth(part, of_atom) for part in alternative) for alternative in atom.definition)
        return case[atom] if atom in case else _worth_on(atom, member)

    return worth(formula, of_atom)


@remembered(10_000)
def _leaves(atom: Atom) -> frozenset[Atom]:
    """Return the tests that a test is made of."""
    if atom.definition is None:
        return frozenset({atom})
    return frozenset().union(*map(_leaves, atom.inside))


def _asks_for_rank(atom: Atom) -> bool:
    return any(leaf.kind == "rank" for leaf in _leaves(atom))

"""Whether a formula holds: on a rank of a launch world, or when the user gives no options."""

from collections.abc import Callable, Iterable
from functools import lru_cache

from ddpdoctor.condition import AllOf, Atom, Condition, Formula, as_formula, compatible
from ddpdoctor.world import UNKNOWN, WORLDS, Member, evaluate


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
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, AllOf):
        return _all(worth(part, of_atom) for part in formula.parts)
    answer = of_atom(formula.atom)
    return None if answer is None else answer is formula.holds


@lru_cache(maxsize=50_000)
def _worth_on(atom: Atom, member: Member) -> bool | None:
    if atom.definition is not None:
        return _any(_all(holds_for(part, member) for part in alternative) for alternative in atom.definition)
    value = UNKNOWN if atom.expression is None else evaluate(atom.expression, member)
    return None if value is UNKNOWN else bool(value)


@lru_cache(maxsize=50_000)
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


def divides_ranks(condition: Condition) -> str | None:
    """Return the first launch world in which only some ranks can meet a condition, or ``None``."""
    formula = as_formula(condition)
    for name, world in WORLDS.items():
        left_out = [member for member in world if holds_for(formula, member) is False]
        if left_out and len(left_out) < len(world):
            return name
    return None


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

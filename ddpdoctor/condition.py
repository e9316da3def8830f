"""Under which circumstances an event happens: conjunctions of literals over canonical expressions.

A :data:`Condition` is a set of parts that hold together. A part is a :class:`Literal` (an atom that holds
or does not) or an :class:`AnyOf` (a disjunction that could not be taken apart). A :data:`Formula` is what a
test in the source says; :func:`assume` adds one to a condition.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from ddpdoctor.world import UNKNOWN, WORLDS, Expression, Member, evaluate


class Atom:
    """A test in canonical form, compared by identity: a reader makes one atom for one text.

    ``kind`` says what decides it: ``rank`` (which rank this is), ``world`` (whether and how the run is
    distributed), ``configuration`` (options the user gives, the same on every rank), ``data`` (values that
    differ between ranks: losses, batches, clocks, files) or ``other``.
    """

    __slots__ = ("expression", "kind", "line", "text")

    def __init__(self, text: str, kind: str = "other", expression: Expression | None = None, line: int = 0) -> None:
        self.text = text
        self.kind = kind
        self.expression = expression
        self.line = line

    def __repr__(self) -> str:
        return self.text


class Literal(NamedTuple):
    """An atom that holds, or one that does not."""

    atom: Atom
    holds: bool

    def __str__(self) -> str:
        return self.atom.text if self.holds else f"not ({self.atom.text})"


class AllOf(NamedTuple):
    """A conjunction inside a disjunction."""

    parts: "frozenset[Part]"

    def __str__(self) -> str:
        return " and ".join(sorted(map(str, self.parts)))


class AnyOf(NamedTuple):
    """A disjunction."""

    parts: frozenset[Literal | AllOf]

    def __str__(self) -> str:
        return "(" + " or ".join(sorted(map(str, self.parts))) + ")"


Part: TypeAlias = Literal | AnyOf
Condition: TypeAlias = frozenset[Part]
Formula: TypeAlias = bool | Literal | AllOf | AnyOf

ALWAYS: Condition = frozenset()
MAX_ALTERNATIVES = 12
"""A disjunction of more alternatives says too little to be worth its cost: it is taken to hold."""


def negation(formula: Formula) -> Formula:
    """Return the formula that holds exactly when this one does not."""
    if isinstance(formula, bool):
        return not formula
    if isinstance(formula, Literal):
        return Literal(formula.atom, not formula.holds)
    negated = [negation(part) for part in formula.parts]
    return any_of(negated) if isinstance(formula, AllOf) else all_of(negated)


def all_of(formulas: Iterable[Formula]) -> Formula:
    """Return the conjunction of formulas."""
    parts: set[Part] = set()
    for formula in formulas:
        if formula is False:
            return False
        if isinstance(formula, AllOf):
            parts |= formula.parts
        elif not isinstance(formula, bool):
            parts.add(formula)
    if not parts:
        return True
    return next(iter(parts)) if len(parts) == 1 else AllOf(frozenset(parts))


def any_of(formulas: Iterable[Formula]) -> Formula:
    """Return the disjunction of formulas."""
    parts: set[Literal | AllOf] = set()
    for formula in formulas:
        if formula is True:
            return True
        if isinstance(formula, AnyOf):
            parts |= formula.parts
        elif not isinstance(formula, bool):
            parts.add(formula)
    if not parts:
        return False
    if len(parts) > MAX_ALTERNATIVES:
        return True
    return next(iter(parts)) if len(parts) == 1 else AnyOf(frozenset(parts))


def as_formula(condition: Condition) -> Formula:
    """Return a condition as the formula that says the same."""
    return all_of(condition)


def assume(condition: Condition, formula: Formula) -> Condition | None:
    """Return the condition with the formula added, or ``None`` when the two contradict each other."""
    if isinstance(formula, bool):
        return condition if formula else None
    if isinstance(formula, Literal):
        return _assume_literal(condition, formula)
    if isinstance(formula, AllOf):
        return _assume_all(condition, formula.parts)
    return _assume_any(condition, formula)


def _assume_all(condition: Condition, parts: Iterable[Part]) -> Condition | None:
    for part in parts:
        added = assume(condition, part)
        if added is None:
            return None
        condition = added
    return condition


def _assume_literal(condition: Condition, literal: Literal) -> Condition | None:
    if literal in condition:
        return condition
    if Literal(literal.atom, not literal.holds) in condition:
        return None
    added = condition | {literal}
    for part in condition:
        if isinstance(part, AnyOf):
            simplified = _assume_any(added - {part}, part)
            if simplified is None:
                return None
            added = simplified
    return added


def _assume_any(condition: Condition, disjunction: AnyOf) -> Condition | None:
    if disjunction in condition:
        return condition
    possible: list[Literal | AllOf] = []
    for part in disjunction.parts:
        whole = assume(condition, part)
        if whole is None:
            continue
        if whole == condition:
            return condition
        possible.append(part)
    if not possible:
        return None
    if len(possible) == 1:
        return assume(condition, possible[0])
    return condition | {AnyOf(frozenset(possible))}


def together(first: Condition, second: Condition) -> Condition | None:
    """Return the condition under which both hold, or ``None`` when they cannot hold together."""
    if len(first) < len(second):
        first, second = second, first
    return _assume_all(first, second)


def compatible(first: Condition, second: Condition) -> bool:
    """Whether two conditions can hold together."""
    return together(first, second) is not None


def literals(condition: Iterable[Formula]) -> Iterator[Literal]:
    """Yield every literal of a condition, those inside disjunctions included."""
    for part in condition:
        if isinstance(part, Literal):
            yield part
        elif not isinstance(part, bool):
            yield from literals(part.parts)


def kinds(condition: Condition) -> frozenset[str]:
    """Return the kinds of all atoms a condition is made of."""
    return frozenset(literal.atom.kind for literal in literals(condition))


def holds_for(formula: Formula, member: Member) -> bool | None:
    """Whether a formula holds on one rank of a launch world; ``None`` when that cannot be told."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Literal):
        expression = formula.atom.expression
        value = UNKNOWN if expression is None else evaluate(expression, member)
        return None if value is UNKNOWN else bool(value) is formula.holds
    answers = {holds_for(part, member) for part in formula.parts}
    decided_by = isinstance(formula, AnyOf)
    if decided_by in answers:
        return decided_by
    return None if None in answers else not decided_by


def excluded(condition: Condition, world: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the ranks of a world that certainly do not meet a condition."""
    return tuple(member for member in world if holds_for(as_formula(condition), member) is False)


def divides_ranks(condition: Condition) -> str | None:
    """Return the first launch world in which only some ranks can meet a condition, or ``None``."""
    for name, world in WORLDS.items():
        left_out = excluded(condition, world)
        if left_out and len(left_out) < len(world):
            return name
    return None

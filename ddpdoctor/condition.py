"""Under which circumstances an event happens: conjunctions of literals over canonical expressions.

A :data:`Condition` is a set of parts that hold together. A part is a :class:`Literal` (an atom that holds
or does not) or an :class:`AnyOf` (a disjunction that could not be taken apart). A :data:`Formula` is what a
test in the source says; :func:`assume` adds one to a condition.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
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


class Compound:
    """A conjunction or disjunction of parts, compared by its parts; ``atoms`` are all atoms in it."""

    __slots__ = ("_hash", "atoms", "parts", "weight")

    def __init__(self, parts: "frozenset[Part | AllOf]") -> None:
        self.parts = parts
        self.atoms: frozenset[Atom] = frozenset().union(
            *((part.atom,) if isinstance(part, Literal) else part.atoms for part in parts)
        )
        self.weight: int = sum(1 if isinstance(part, Literal) else part.weight for part in parts)
        self._hash = hash((type(self).__name__, parts))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parts == other.parts


class AllOf(Compound):
    """A conjunction inside a disjunction."""

    __slots__ = ()

    def __str__(self) -> str:
        return " and ".join(sorted(map(str, self.parts)))


class AnyOf(Compound):
    """A disjunction."""

    __slots__ = ("_atom",)

    def stand_in(self) -> Atom:
        """Return one atom for the whole, where a condition holds too many disjunctions already."""
        if not hasattr(self, "_atom"):
            self._atom = Atom(str(self)[:200])
        return self._atom

    def __str__(self) -> str:
        return "(" + " or ".join(sorted(map(str, self.parts))) + ")"


Part: TypeAlias = Literal | AnyOf
Condition: TypeAlias = frozenset[Part]
Formula: TypeAlias = bool | Literal | AllOf | AnyOf

ALWAYS: Condition = frozenset()
MAX_DISJUNCTIONS = 6
MAX_WEIGHT = 24
"""A disjunction of more literals costs more than it tells: it becomes one atom about which nothing is known."""


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
    parts: set[Part | AllOf] = set()
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
    parts: set[Part | AllOf] = set()
    for formula in formulas:
        if formula is True:
            return True
        if isinstance(formula, AnyOf):
            parts |= formula.parts
        elif not isinstance(formula, bool):
            parts.add(formula)
    if not parts:
        return False
    if len(parts) == 1:
        return next(iter(parts))
    either = AnyOf(frozenset(parts))
    return either if either.weight <= MAX_WEIGHT else Literal(Atom(f"{str(either)[:200]}…"), True)


def as_formula(condition: Condition) -> Formula:
    """Return a condition as the formula that says the same."""
    return all_of(condition)


@lru_cache(maxsize=20_000)
def assume(condition: Condition, formula: Formula) -> Condition | None:
    """Return the condition with a formula added, or ``None`` when the two contradict each other.

    Contradictions are found by unit propagation: each is one, but not every one is found.
    """
    if isinstance(formula, bool):
        return condition if formula else None
    if isinstance(formula, AllOf):
        return _with(condition, formula.parts)
    return condition if formula in condition else _with(condition, (formula,))


@lru_cache(maxsize=20_000)
def together(first: Condition, second: Condition) -> Condition | None:
    """Return the condition under which both hold, or ``None`` when they cannot hold together."""
    if len(first) < len(second):
        first, second = second, first
    return first if second <= first else _with(first, second - first)


def _with(condition: Condition, added: "Iterable[Part | AllOf]") -> Condition | None:
    parts: set[Part] = set(condition)
    disjunctions = [part for part in condition if type(part) is AnyOf]
    queue: list[Part | AllOf] = list(added)
    while queue:
        part = queue.pop()
        if isinstance(part, Literal):
            if part in parts:
                continue
            if Literal(part.atom, not part.holds) in parts:
                return None
            parts.add(part)
            touched = [other for other in disjunctions if part.atom in other.atoms]
            for other in touched:
                disjunctions.remove(other)
                parts.discard(other)
            queue += touched
        elif isinstance(part, AllOf):
            queue.extend(part.parts)
        elif part not in parts:
            left = [option for option in part.parts if not _clashes(parts, option)]
            if not left:
                return None
            if any(_follows(parts, option) for option in left):
                continue
            if len(left) == 1:
                queue.append(left[0])
            elif len(disjunctions) >= MAX_DISJUNCTIONS:
                parts.add(Literal(part.stand_in(), True))
            else:
                either = part if len(left) == len(part.parts) else AnyOf(frozenset(left))
                disjunctions.append(either)
                parts.add(either)
    return frozenset(parts)


def _clashes(parts: set[Part], formula: "Part | AllOf") -> bool:
    """Whether a formula contradicts the literals of a condition."""
    if isinstance(formula, Literal):
        return Literal(formula.atom, not formula.holds) in parts
    clashes = (_clashes(parts, part) for part in formula.parts)
    return any(clashes) if isinstance(formula, AllOf) else all(clashes)


def _follows(parts: set[Part], formula: "Part | AllOf") -> bool:
    """Whether a formula holds where a condition does."""
    if isinstance(formula, AllOf):
        return formula.parts <= parts
    return formula in parts


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

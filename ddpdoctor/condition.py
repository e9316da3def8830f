"""Under which circumstances an event happens: conjunctions of literals over canonical atoms.

A :data:`Condition` is a set of literals that hold together. A disjunction is an atom of its own, named by its
definition, so that its negation is exact and costs nothing. A :data:`Formula` is what a test in the source says;
:func:`assume` adds one to a condition.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from ddpdoctor.atom import AllOf, Atom, Condition, Formula, Literal, either
from ddpdoctor.memory import remembered
from ddpdoctor.nested import forced_deep

MAX_ALTERNATIVES = 16
"""A disjunction of more alternatives costs more than it tells: it becomes an atom about which nothing is known."""
MAX_DEPTH = 60
"""How deep disjunctions may lie in disjunctions: a program can put one more around the last in every line."""


def negation(formula: Formula) -> Formula:
    """Return the formula that holds exactly when this one does not."""
    if isinstance(formula, bool):
        return not formula
    if isinstance(formula, Literal):
        return formula.opposite()
    return any_of(part.opposite() for part in formula.parts)


def all_of(formulas: Iterable[Formula]) -> Formula:
    """Return the conjunction of formulas."""
    parts: set[Literal] = set()
    for formula in formulas:
        if formula is False:
            return False
        if isinstance(formula, Literal):
            parts.add(formula)
        elif isinstance(formula, AllOf):
            parts |= formula.parts
    if not parts:
        return True
    if any(part.opposite() in parts for part in parts):
        return False
    if len(parts) == 1:
        return next(iter(parts))
    whole = frozenset(parts)
    return AllOf(whole) if _can_hold(whole) else False


@remembered(20_000)
def _can_hold(parts: Condition) -> bool:
    """Whether literals leave an alternative of each disjunction among them, as far as unit propagation tells."""
    return not disjunctions_in(parts) or _with(frozenset(), parts) is not None


def any_of(formulas: Iterable[Formula]) -> Formula:
    """Return the disjunction of formulas: a literal of the atom that stands for it."""
    alternatives: set[Condition] = set()
    for formula in formulas:
        if formula is True:
            return True
        if isinstance(formula, AllOf):
            alternatives.add(formula.parts)
        elif isinstance(formula, Literal):
            if formula.holds and formula.atom.definition is not None:
                alternatives |= formula.atom.definition
            else:
                alternatives.add(formula.alone)
    kept = _weakest(_resolved(alternatives))
    if not kept:
        return False
    if len(kept) == 1:
        return as_formula(next(iter(kept)))
    if _exhaustive(kept):
        return True
    depth = max(literal.atom.depth for one in kept for literal in one)
    if len(kept) > MAX_ALTERNATIVES or depth > MAX_DEPTH:
        return Literal(Atom(either(kept), "other"), True)
    return Literal(_named(frozenset(kept)), True)


def _weakest(alternatives: set[Condition]) -> set[Condition]:
    """Return the alternatives without those that ask for all that another asks for, and more."""
    fewest = min(map(len, alternatives), default=0)
    shorter = [one for one in alternatives if len(one) == fewest]
    if len(shorter) == len(alternatives):
        return alternatives
    return {one for one in alternatives if len(one) == fewest or not any(other < one for other in alternatives)}


def _resolved(alternatives: set[Condition]) -> set[Condition]:
    """Return the alternatives with two that differ in one answer only as one: ``a and b or a and not b`` is ``a``."""
    if not 1 < len(alternatives) <= MAX_ALTERNATIVES:
        return alternatives
    said = frozenset().union(*alternatives)
    both = [one for one in said if one.holds and one.opposite() in said]
    for one in both:
        opposite = one.opposite()
        for alternative in [each for each in alternatives if one in each and len(each) > 1]:
            rest = alternative - {one}
            if rest | {opposite} in alternatives:
                alternatives = alternatives - {alternative, rest | {opposite}} | {rest}
                return _resolved(alternatives)
    return alternatives


def _exhaustive(alternatives: set[Condition]) -> bool:
    """Whether one of two alternatives must hold: a literal and its negation are among them."""
    single = {next(iter(one)) for one in alternatives if len(one) == 1}
    return any(literal.opposite() in single for literal in single)


@remembered(20_000)
def _named(definition: frozenset[Condition]) -> Atom:
    """Return the atom of a disjunction: the same one for the same definition."""
    return Atom(kind="any", definition=definition)


@remembered(20_000)
def compact(condition: Condition) -> Condition:
    """Return a long condition as one literal that means the same: what is built over it then stays small."""
    if len(condition) <= MAX_PLAIN:
        return condition
    refused = frozenset([part.opposite().alone for part in condition])
    return Literal(_named(refused), False).alone


MAX_PLAIN = 3


def as_formula(condition: Condition) -> Formula:
    """Return a condition as the formula that says the same."""
    if len(condition) == 1:
        return next(iter(condition))
    return AllOf(condition) if condition else True


@remembered(20_000)
def assume(condition: Condition, formula: Formula) -> Condition | None:
    """Return the condition with a formula added, or ``None`` when the two contradict each other.

    Contradictions are found by unit propagation: each is one, but not every one is found.
    """
    if isinstance(formula, bool):
        return condition if formula else None
    if isinstance(formula, Literal):
        return condition if formula in condition else _with(condition, (formula,))
    return condition if formula.parts <= condition else _with(condition, formula.parts)


@remembered(20_000)
def together(first: Condition, second: Condition) -> Condition | None:
    """Return the condition under which both hold, or ``None`` when they cannot hold together."""
    if len(first) < len(second):
        first, second = second, first
    return first if second <= first else _with(first, second - first)


def _with(condition: Condition, added: Collection[Literal]) -> Condition | None:
    for literal in added:
        if literal.opposite() in condition:
            return None
    parts = set(condition)
    disjunctions = list(disjunctions_in(condition))
    queue = [*added, *_packed(condition)]
    new: set[Atom] = set()
    concerned: set[Atom] = set()
    while queue or concerned:
        while queue:
            literal = queue.pop()
            if literal in parts:
                continue
            if literal.opposite() in parts:
                return None
            parts.add(literal)
            atom = literal.atom
            new.add(atom)
            concerned.update([one for one in disjunctions if literal in one.refusing])
            if atom.definition is not None:
                if literal.holds:
                    disjunctions.append(atom)
                    concerned.add(atom)
                else:
                    queue += _refused(atom)
        for one in concerned:
            forced = _forced(parts, one)
            if forced is None:
                return None
            queue += forced
        concerned.clear()
        if not queue:
            nested = forced_deep(parts, disjunctions, new)
            if nested is None:
                return None
            queue += nested
    return frozenset(parts)


@remembered(20_000)
def disjunctions_in(condition: Condition) -> tuple[Atom, ...]:
    """Return the disjunctions that a condition says hold."""
    return tuple([one.atom for one in condition if one.holds and one.atom.definition is not None])


@remembered(20_000)
def _packed(condition: Condition) -> tuple[Literal, ...]:
    """Return what is said by the literals of a condition that stand for several (:func:`compact`)."""
    refusals = [one.atom for one in condition if not one.holds and one.atom.definition is not None]
    return tuple([literal for atom in refusals for literal in _refused(atom) if literal not in condition])


@remembered(20_000)
def _refused(disjunction: Atom) -> tuple[Literal, ...]:
    """Return what follows when a disjunction does not hold: none of its alternatives does."""
    refused = (negation(as_formula(alternative)) for alternative in disjunction.definition or ())
    return tuple(one for one in refused if isinstance(one, Literal))  # True: it could not hold anyway


def _forced(parts: set[Literal], disjunction: Atom) -> Iterable[Literal] | None:
    """Return what follows from a disjunction in a condition; ``None`` when none of its alternatives is left."""
    left: Condition | None = None
    for alternative, refusals, _ in disjunction.refusals:
        if alternative <= parts:
            return ()
        if parts.isdisjoint(refusals):
            if left is not None:
                return ()
            left = alternative
    return left


def compatible(first: Condition, second: Condition) -> bool:
    """Whether two conditions can hold together."""
    return together(first, second) is not None


def asks_for_group(literal: Literal) -> bool:
    """Whether a test, or one that it is made of, asks whether there is a process group."""
    tests = (literal.atom, *literal.atom.reach)
    return any(one.expression is not None and "initialized" in one.expression.leaves() for one in tests)


def kinds_in(formula: Formula) -> frozenset[str]:
    """Return the kinds of the tests that a formula is made of."""
    if isinstance(formula, bool):
        return frozenset()
    if isinstance(formula, Literal):
        return formula.atom.kinds
    return frozenset().union(*(part.atom.kinds for part in formula.parts))


def literals(
    formulas: Iterable[Formula], within: Callable[[Condition], bool] = lambda alternative: True
) -> Iterator[Literal]:
    """Yield the literals that formulas are made of, each once, with those inside disjunctions.

    Of a disjunction only the alternatives ``within`` count.
    """
    seen: set[Literal] = set()
    pending: list[Formula] = list(formulas)
    while pending:
        formula = pending.pop()
        if isinstance(formula, AllOf):
            pending += formula.parts
        elif isinstance(formula, Literal) and formula not in seen:
            seen.add(formula)
            if formula.atom.definition is None:
                yield formula
            else:
                counting = filter(within, formula.atom.definition)
                pending += [part for alternative in counting for part in alternative]

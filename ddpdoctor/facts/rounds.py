"""In which rounds of a loop something happens, as far as the loop's count decides it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ddpdoctor.atom import Atom, Formula
from ddpdoctor.condition import literals
from ddpdoctor.events import Loop
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.truth import worth
from ddpdoctor.world import LEAVES, UNKNOWN, WORLDS, Expression, evaluate, evaluate_with, is_counted

FIRST = WORLDS["torchrun"][0]


class Round(NamedTuple):
    """One round of a loop: its number from 0, and what the numbers count as that are not known.

    ``length`` is that of loaders and lists, ``size`` every other number that goes by a name; ``settled`` are tests
    that are taken to turn out one way.
    """

    loop: Place
    number: int
    size: int
    length: int
    settled: Mapping[Atom, bool] = {}


def holds_in(formula: Formula, at: Round) -> bool | None:
    """Whether a formula holds in a round; ``None`` when that cannot be told."""
    answers: dict[Atom, bool | None] = {}  # a test can be in many others, and those in many more

    def of_atom(atom: Atom) -> bool | None:
        if atom not in answers:
            answers[atom] = _of_atom(atom, at, of_atom)
        return answers[atom]

    return worth(formula, of_atom)


def _of_atom(atom: Atom, at: Round, of_atom: Callable[[Atom], bool | None]) -> bool | None:
    if atom.definition is not None:
        alternatives = [_all_of([worth(part, of_atom) for part in alternative]) for alternative in atom.definition]
        return True if True in alternatives else None if None in alternatives else False
    if atom in at.settled:
        return at.settled[atom]
    if atom.expression is None:
        return None
    value = evaluate_with(atom.expression, lambda leaf: _of_leaf(leaf, at))
    return None if value is UNKNOWN else bool(value)


def _all_of(answers: list[bool | None]) -> bool | None:
    return False if False in answers else None if None in answers else True


def _of_leaf(leaf: Expression, at: Round) -> Any:
    if leaf.operator == "round":
        return at.number if leaf.operands[0] == at.loop else 0
    if leaf.operator == "sized":
        return evaluate_with(leaf.operands[0], lambda inner: _of_leaf(inner, at))
    if leaf.operator == "named":
        return at.length if leaf.operands[0].startswith("len(") else at.size
    return UNKNOWN if leaf.operator == "counter" else evaluate(leaf, FIRST)


def number_in(counted: Expression, loop: Loop, number: int) -> Any:
    """Return the value of a count in a round of a loop; ``UNKNOWN`` where it starts from what is not in the code.

    Where a run can start from zero or from what it resumes, that is the value in one that starts from zero.
    """
    here = Expression("round", (loop.place,))

    def of_leaf(leaf: Expression) -> Any:
        if leaf.operator == "named" and any(0 in starts for starts in leaf.operands[1:]):
            return 0
        return leaf.operands[0] if leaf.operator == "constant" else number if leaf == here else UNKNOWN

    return evaluate_with(counted, of_leaf)


def counts(formula: Formula) -> Iterator[Atom]:
    """Yield the tests in a formula that turn out differently from round to round."""
    for literal in literals([formula]):
        if is_counted(literal.atom.expression):
            yield literal.atom


def numbers_of(loop: Loop) -> int:
    """Return how many numbers of rounds a loop can have, by the way that the program takes before it."""
    return len(loop.count.operands) if loop.count is not None and loop.count.operator == "either" else 1


def rounds_in(loop: Loop, size: int, length: int, way: int | None = None) -> int | None:
    """Return how many rounds a loop has when what is not known counts as ``size`` and ``length``; ``None`` where that
    does not say it.

    ``way`` is which of several numbers it is, where the program can have come to the loop in several ways.
    """
    count = loop.count
    if count is not None and count.operator == "either" and way is not None:
        count = count.operands[way]
    if count is None:
        return min(length, MANY)
    number = evaluate_with(count, lambda leaf: _of_leaf(leaf, Round(loop.place, 0, size, length)))
    return min(number, MANY) if isinstance(number, int) else None


MANY = 600
"""How many rounds are looked at: more than twice what anybody accumulates over."""


def happens_now_and_then(formula: Formula, loop: Loop) -> bool:
    """Whether a loop comes to a formula's holding again and again with rounds between in which it does not hold."""
    if any(_is_reset(atom) for atom in counts(formula)):
        return True
    largest = max(constants_in(formula), default=0)
    enough = min(2 * largest + 8, MANY)
    for size, length in ((2, enough), (3, enough + 1)):
        number = rounds_in(loop, size, length) or length
        held = [holds_in(formula, Round(loop.place, i, size, length)) is not False for i in range(number)]
        once_at_the_end = number > 1 and loop.count is not None and held == [False] * (number - 1) + [True]
        if not once_at_the_end and not _comes_back(held):
            return False
    return True


def _comes_back(held: list[bool]) -> bool:
    """Whether something that holds ceases to, and holds again later."""
    first = held.index(True) if True in held else len(held)
    return False in held[first:] and True in held[held.index(False, first) :]


def constants_in(formula: Formula) -> Iterator[int]:
    """Yield the whole numbers that a loop's count is compared or divided with."""
    for leaf in _leaves_in(formula):
        if leaf.operator == "constant" and isinstance(leaf.operands[0], int):
            yield leaf.operands[0]


def names_in(formula: Formula) -> Iterator[str]:
    """Yield the names of the numbers that a loop's count is compared or divided with."""
    for leaf in _leaves_in(formula):
        if leaf.operator == "named":
            yield leaf.operands[0]


def _leaves_in(formula: Formula) -> Iterator[Expression]:
    pending = [atom.expression for atom in counts(formula)]
    while pending:
        one = pending.pop()
        if one is not None and one.operator in LEAVES:
            yield one
        elif one is not None:
            pending += [operand for operand in one.operands if isinstance(operand, Expression)]


def _is_reset(atom: Atom) -> bool:
    """Whether a test is on a number that rounds count up and set back, or on the remainder of one."""
    pending = [atom.expression]
    found = remainder = False
    while pending:
        one = pending.pop()
        if one is None:
            continue
        remainder |= one.operator == "%"
        found |= one.operator == "counter"
        if one.operator == "counter" and one.operands[1]:
            return True
        pending += [operand for operand in one.operands if isinstance(operand, Expression)]
    return found and remainder

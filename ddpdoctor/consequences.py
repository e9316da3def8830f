"""What was tested, of all that is known after a test: without what follows from the rest of it."""

from ddpdoctor.atom import Condition, Literal
from ddpdoctor.condition import assume, disjunctions_in, together
from ddpdoctor.memory import remembered


@remembered(20_000)
def since(condition: Condition, base: Condition) -> Condition:
    """Return what was added to a condition, without what follows from the rest of it: the tests that were made.

    What follows from a test and a disjunction of the base is the consequence, and not what decided.
    """
    added = condition - base
    if len(added) < 2 or len(added) > MAX_SHORTENED or not disjunctions_in(base):
        return added
    for literal in sorted(added, key=_weight, reverse=True):
        rest = added - {literal}
        follows = rest and together(base, rest)
        if follows and literal in follows:
            added = rest
    return added


MAX_SHORTENED = 12


def _weight(literal: Literal) -> tuple[int, int, str]:
    """Return how little a literal says of which ranks come here, and how much is in it."""
    atom = literal.atom
    return (KINDS.get(atom.kind, len(KINDS)), atom.depth, atom.text)


KINDS = {"rank": 0, "world": 1, "configuration": 2}
"""Of what is left out last: who comes here is asked of the tests on the ranks."""


def without_consequences(added: Condition, base: Condition) -> Condition:
    """Return what was added to a condition without what follows from its disjunctions."""
    kept = set(added)
    for literal in added:
        if literal.atom.definition is not None and literal in kept:
            alone = assume(base, literal)
            if alone is not None:
                kept -= alone - base - {literal}
    return frozenset(kept)

"""Where the ranks that come here parted from the others: the ``if`` that let only some through, or sent some away."""

import ast
from collections.abc import Iterable
from typing import Any

from ddpdoctor.atom import Condition
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import divides_ranks


def note_decision(walk: Walk, test: ast.expr, branches: "Iterable[tuple[Condition | None, list[ast.stmt]]]") -> None:
    """Note what an ``if`` adds to the conditions of its arms about the rank, and whether an arm is what follows it."""
    before = walk.path
    for condition, body in branches:
        for literal in condition - before if condition is not None else ():
            if "rank" in literal.atom.kinds:
                walk.decided.pop(literal, None)
                walk.decided[literal] = walk.place(test), not body


def decided(walk: Walk) -> dict[str, Any]:
    """Return the fields of an event that say where it was decided which ranks come to it."""
    inner: dict[str, Any] = {}
    for literal, (place, left) in walk.decided.items():
        if literal in walk.path:
            inner = {"decided": place, "left": left}
            if divides_ranks(literal.alone) is not None:
                return inner
    return inner

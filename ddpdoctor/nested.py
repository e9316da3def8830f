"""Tests in tests: what follows from disjunctions whose alternatives hold disjunctions themselves."""

from collections.abc import Iterable

from ddpdoctor.atom import Atom, Condition, Literal


def forced_deep(parts: set[Literal], disjunctions: Iterable[Atom]) -> list[Literal] | None:
    """Return what follows from disjunctions with disjunctions in them; ``None`` where one has no alternative left."""
    for one in disjunctions:
        if one.depth > 1 and not any(alternative <= parts for alternative in one.definition or ()):
            left = [alternative for alternative in one.definition or () if _may_hold(parts, alternative)]
            if not left:
                return None
            if len(left) == 1:
                return [literal for literal in left[0] if literal not in parts]
    return []


def _may_hold(parts: set[Literal], alternative: Condition) -> bool:
    return not any(_is_refuted(parts, literal) for literal in alternative)


def _is_refuted(parts: set[Literal], literal: Literal) -> bool:
    """Whether literals that hold leave none of the ways in which another could hold."""
    if literal.opposite() in parts:
        return True
    definition = literal.atom.definition
    if definition is None or literal in parts:
        return False
    if literal.holds:
        return not any(_may_hold(parts, alternative) for alternative in definition)
    return any(alternative <= parts for alternative in definition)

"""Tests in tests: what follows from disjunctions whose alternatives hold disjunctions themselves."""

from collections.abc import Collection, Iterable

from ddpdoctor.atom import Atom, Condition, Literal


def forced_deep(parts: set[Literal], disjunctions: Iterable[Atom], new: Collection[Atom]) -> list[Literal] | None:
    """Return what follows from disjunctions with disjunctions in them; ``None`` where one has no alternative left.

    Only those are asked that are new, or that a new atom is in: of the others it is known what follows.
    """
    for one in disjunctions:
        if one.depth < 2 or (one not in new and one.reach.isdisjoint(new)):
            continue
        left: Condition | None = None
        for alternative, refusals, nested in one.refusals:
            if alternative <= parts:
                break
            if not parts.isdisjoint(refusals) or (nested and _is_one_refuted(parts, nested)):
                continue
            if left is not None:
                break
            left = alternative
        else:
            if left is None:
                return None
            return [literal for literal in left if literal not in parts]
    return []


def _is_one_refuted(parts: set[Literal], literals: tuple[Literal, ...]) -> bool:
    """Whether literals that hold leave none of the ways in which one of some disjunctions could be as it is said to."""
    for literal in literals:
        if literal in parts:
            continue
        if literal.holds:
            for _, refusals, nested in literal.atom.refusals:
                if parts.isdisjoint(refusals) and not (nested and _is_one_refuted(parts, nested)):
                    break
            else:
                return True
        else:
            for alternative in literal.atom.definition or ():
                if alternative <= parts:
                    return True
    return False

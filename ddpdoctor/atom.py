"""Tests in canonical form, and what is said of them: that one holds, that several do, that a formula does."""

from collections.abc import Hashable
from typing import TypeAlias

from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.world import Expression


class Atom:
    """A test in canonical form, compared by identity: a reader makes one atom for one text.

    ``kind`` says what decides it: ``rank`` (which rank this is), ``world`` (whether and how the run is
    distributed), ``configuration`` (options the user gives, the same on every rank), ``data`` (values that
    differ between ranks: losses, batches, clocks, files), ``any`` (a disjunction) or ``other``. ``definition`` has the
    alternatives of a disjunction, each a set of literals that hold together; ``inside`` are all atoms in it, ``kinds``
    those of the tests that it is made of, down to the last, and ``refusals`` has for each alternative the literals any
    of which refuses it.
    ``measured`` are the loaders from whose batches a rank computed, alone, what decides it.
    ``local`` is what else decides it that comes to each rank in its own time: ``clock``, ``file`` or ``signal``.
    ``line`` and ``place`` are where the test is made first.
    ``by_default`` is whether it holds when the user gives no options, where that can be told.
    """

    __slots__ = (
        "by_default",
        "definition",
        "depth",
        "expression",
        "inside",
        "kind",
        "kinds",
        "line",
        "local",
        "measured",
        "place",
        "refusals",
        "text",
    )

    def __init__(
        self,
        text: str,
        kind: str = "other",
        expression: Expression | None = None,
        place: Place | None = None,
        definition: "frozenset[Condition] | None" = None,
        *,
        by_default: bool | None = None,
        measured: frozenset[Hashable] = frozenset(),
        local: frozenset[Hashable] = frozenset(),
    ) -> None:
        self.text = text
        self.kind = kind
        self.expression = expression
        self.line = place.line if place is not None else 0
        self.place = place
        self.definition = definition
        self.by_default = by_default
        self.measured = measured
        self.local = local
        self.inside: frozenset[Atom] = frozenset(
            literal.atom for alternative in definition or () for literal in alternative
        )
        self.kinds: frozenset[str] = (
            frozenset({kind}) if definition is None else frozenset().union(*(atom.kinds for atom in self.inside))
        )
        self.depth: int = 1 + max((atom.depth for atom in self.inside), default=-1)
        self.refusals = tuple(
            (alternative, frozenset(literal.opposite() for literal in alternative)) for alternative in definition or ()
        )

    def __repr__(self) -> str:
        return self.text


class Literal(NamedTuple):
    """An atom that holds, or one that does not."""

    atom: Atom
    holds: bool

    def opposite(self) -> "Literal":
        """Return the literal that holds exactly when this one does not."""
        return _literal(Literal, (self.atom, not self.holds))

    def __str__(self) -> str:
        return self.atom.text if self.holds else f"not ({self.atom.text})"


_literal = tuple.__new__  # of all named tuples these are made the oftenest


class AllOf(NamedTuple):
    """A conjunction of several literals, as a formula."""

    parts: frozenset[Literal]

    def __str__(self) -> str:
        return " and ".join(sorted(map(str, self.parts)))


Condition: TypeAlias = frozenset[Literal]


Formula: TypeAlias = bool | Literal | AllOf


ALWAYS: Condition = frozenset()

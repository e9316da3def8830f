"""Tests in canonical form, and what is said of them: that one holds, that several do, that a formula does."""

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeAlias

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
    of which refuses it, and which of its own are of disjunctions; ``refusing`` those that refuse any alternative.
    ``reach`` are all atoms in it, those inside others too.
    ``measured`` are the loaders from whose batches a rank computed, alone, what decides it.
    ``local`` is what else decides it that comes to each rank in its own time: ``clock``, ``file`` or ``signal``.
    ``line`` and ``place`` are where the test is made first.
    ``positive`` and ``negative`` are its two literals.
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
        "negative",
        "place",
        "positive",
        "reach",
        "refusals",
        "refusing",
        "text",
    )

    def __init__(
        self,
        text: str = "",
        kind: str = "other",
        expression: Expression | None = None,
        place: Place | None = None,
        definition: "frozenset[Condition] | None" = None,
        *,
        by_default: bool | None = None,
        measured: frozenset[Hashable] = frozenset(),
        local: frozenset[Hashable] = frozenset(),
    ) -> None:
        self.kind = kind
        self.expression = expression
        self.line = place.line if place is not None else 0
        self.place = place
        self.definition = definition
        self.by_default = by_default
        self.measured = measured
        self.local = local
        self.inside: frozenset[Atom] = NO_ATOMS
        self.kinds: frozenset[str] = frozenset((kind,))
        self.depth = 0
        positive, negative = _literal(Literal), _literal(Literal)
        self.positive = positive._of(self, True, negative)
        self.negative = negative._of(self, False, positive)
        if definition is None:
            self.text = text
            self.reach: frozenset[Atom] = NO_ATOMS
            self.refusals: tuple[tuple[Condition, Condition, tuple[Literal, ...]], ...] = ()
            self.refusing: Condition = frozenset()
        else:
            inside = {literal.atom for alternative in definition for literal in alternative}
            self.inside = frozenset(inside)
            self.kinds = NO_KINDS.union(*[atom.kinds for atom in inside])
            self.depth = 1 + max([atom.depth for atom in inside], default=-1)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Work out what few disjunctions are asked for: their text, and what refuses their alternatives."""
            definition = object.__getattribute__(self, "definition")
            if name == "text":
                self.text = either(definition)
            elif name == "refusals":
                self.refusals = tuple((one, _opposites(one), _with_others_in_them(one)) for one in definition)
            elif name == "reach":
                self.reach = self.inside.union(*[atom.reach for atom in self.inside if atom.definition is not None])
            elif name == "refusing":
                self.refusing = frozenset().union(*[refusals for _, refusals, _ in self.refusals])
            return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        return self.text


class Literal:
    """An atom that holds, or one that does not: of an atom there are these two, compared by identity as it is.

    ``alone`` is the condition that says no more than this one.
    """

    __slots__ = ("_opposite", "alone", "atom", "holds")

    if TYPE_CHECKING:
        alone: "Condition"

    def __new__(cls, atom: Atom, holds: bool) -> "Literal":
        """Return the atom's literal."""
        return atom.positive if holds else atom.negative

    def _of(self, atom: Atom, holds: bool, opposite: "Literal") -> "Literal":
        self.atom = atom
        self.holds = holds
        self._opposite = opposite
        return self

    def opposite(self) -> "Literal":
        """Return the literal that holds exactly when this one does not."""
        return self._opposite

    def __str__(self) -> str:
        return self.atom.text if self.holds else f"not ({self.atom.text})"

    def __repr__(self) -> str:
        return f"Literal({self})"

    def __reduce__(self) -> "tuple[type[Literal], tuple[Atom, bool]]":
        """Be pickled as one of the atom's two."""
        return Literal, (self.atom, self.holds)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Make the condition of the few that are asked for it."""
            if name != "alone":
                raise AttributeError(name)
            self.alone = frozenset((self,))
            return self.alone


def _opposites(alternative: "Condition") -> "Condition":
    return frozenset([literal.opposite() for literal in alternative])


def _with_others_in_them(alternative: "Condition") -> tuple[Literal, ...]:
    return tuple([literal for literal in alternative if literal.atom.definition is not None])


_literal = object.__new__  # without asking for the atom's


class AllOf(NamedTuple):
    """A conjunction of several literals, as a formula."""

    parts: frozenset[Literal]

    def __str__(self) -> str:
        return " and ".join(sorted(map(str, self.parts)))


Condition: TypeAlias = frozenset[Literal]
NO_ATOMS: frozenset[Atom] = frozenset()
NO_KINDS: frozenset[str] = frozenset()

MAX_TEXT = 200


def either(alternatives: Iterable[Condition]) -> str:
    """Return the canonical text of a disjunction."""
    texts = sorted([" and ".join(sorted(map(str, one))) for one in alternatives])
    return f"({' or '.join(texts)})"[:MAX_TEXT]


Formula: TypeAlias = bool | Literal | AllOf


ALWAYS: Condition = frozenset()

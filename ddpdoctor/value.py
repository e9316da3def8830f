"""The values that events carry, as the reader can know them and the harness sees them."""

from collections.abc import Iterator

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import together
from ddpdoctor.place import Place
from ddpdoctor.record import Record
from ddpdoctor.world import Expression

Taint = frozenset[str]
"""What a value was touched by: ``rank`` (anything that differs because the rank does), ``data`` (batches, losses,
clocks: rank-local), ``shard`` (a part of the data chosen by rank), ``configuration``, ``world``, and ``guessed``: only
its name says that it is a rank."""

CLEAN: Taint = frozenset()


class Value(Record):
    """Anything an event can carry."""

    taint: Taint = CLEAN

    def text(self) -> str:
        """Return the value in a reader's words."""
        raise NotImplementedError


class Constant(Value):
    """A literal, or what was computed from literals alone; ``None``, bool, number, string or tuple of those.

    P: ``written`` is where the literal stands that a port, an address or an option comes from.
    """

    value: object
    written: Place | None = None

    def text(self) -> str:
        return repr(self.value)


class Symbol(Value):
    """A value that is not known but has a name: an option, an environment variable, a rank.

    ``origin`` is ``configuration``, ``environment``, ``rank`` or ``other``; ``expression`` is how each rank works
    the value out, where it can be worked out.
    """

    name: str
    origin: str = "other"
    default: "Value | None" = None
    expression: Expression | None = None

    def text(self) -> str:
        return self.name


class Ref(Value):
    """An object: where it was created, through which calls, and how many were created there before it.

    Two Refs of one trace are the same object when their :attr:`key` is equal; a predicted and an observed one are
    laid side by side by :mod:`ddpdoctor.join`.
    """

    type: str
    place: Place
    stack: tuple[Place, ...] = ()
    process: str = "main"
    n: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        """What identifies the object inside its trace."""
        return self.process, self.place, self.stack, self.n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.key == other.key

    def __hash__(self) -> int:
        return hash((self.place, self.n, self.stack[-2:]))  # of what is equal this is too, and it takes less time

    def text(self) -> str:
        return f"{self.type.rpartition('.')[2]} (line {self.place.line})"


class Group(Ref):
    """A process group as a member of it sees it: ``name`` is torch's own for it, ``ranks`` are its members."""

    name: str
    ranks: tuple[int, ...]

    @property
    def identity(self) -> tuple[str, tuple[int, ...]]:
        """What is the same on every member, and differs for any other group.

        Where each rank makes a group of its own, one after the other or without waiting for the others, the place and
        number of the call are no such thing.
        """
        return self.name, self.ranks

    def text(self) -> str:
        return f"group {self.n} (made in line {self.place.line})"


class Either(Value):
    """One of several values, each under its condition."""

    options: tuple[tuple[Condition, Value], ...]

    def text(self) -> str:
        return " or ".join(value.text() for _, value in self.options)


class Unknown(Value):
    """A value about which nothing is known but, perhaps, what touched it."""

    why: str = ""

    def text(self) -> str:
        return self.why or "unknown"


NONE = Constant(value=None)
UNKNOWN_VALUE = Unknown()


def alternatives(value: Value, when: Condition = ALWAYS) -> Iterator[tuple[Condition, Value]]:
    """Yield the single values a value can have, each with the condition (added to ``when``) under which it does."""
    if not isinstance(value, Either):
        yield when, value
        return
    for condition, option in value.options:
        both = together(when, condition)
        if both is not None:
            yield from alternatives(option, both)


def is_none(value: Value | None) -> bool:
    """Whether a value is certainly absent or ``None``."""
    return value is None or (isinstance(value, Constant) and value.value is None)


def truth(value: Value | None) -> bool | None:
    """Whether a value is certainly true or certainly false; ``None`` when it can be either."""
    if value is None:
        return False
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Ref):
        return True
    if isinstance(value, Either):
        answers = {truth(option) for _, option in value.options}
        return answers.pop() if len(answers) == 1 else None
    return None

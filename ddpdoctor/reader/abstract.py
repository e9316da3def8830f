"""The abstract values that the reader computes with: constants, names, containers and choices between values.

They are mutable where the program's values are (attributes, items), so that aliases see each other's writes. Functions,
classes and objects are in :mod:`ddpdoctor.reader.objects`.
"""

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from ddpdoctor.atom import ALWAYS, Condition, Formula
from ddpdoctor.condition import kinds_in
from ddpdoctor.place import Place
from ddpdoctor.reader.tags import NO_TAGS, Tags, measures, pooled_in, put_together
from ddpdoctor.world import Expression

if TYPE_CHECKING:
    from ddpdoctor.reader.module import Module


Cells: TypeAlias = dict[Hashable, list[tuple[Condition, "Abstract"]]]


class Abstract:
    """Any value of the user's program."""

    __slots__ = ()
    tags: Tags = NO_TAGS


class Known(Abstract):
    """A value that is known: a constant, or computed from constants alone.

    ``written`` is where the literal stands that it comes from, for what can be a port, an address or an option.
    """

    __slots__ = ("value", "written")

    def __init__(self, value: object, written: Place | None = None) -> None:
        self.value = value
        self.written = written

    def __repr__(self) -> str:
        return repr(self.value)


NONE = Known(None)
TRUE = Known(True)


class Opaque(Abstract):
    """A value that is not known but has a name.

    ``origin`` is that of :class:`ddpdoctor.value.Symbol`; ``expression`` says how each rank works the value out, and
    makes it a *rank number* where a rank is in it, which is more than being touched by one (``tags``); ``parts`` are
    the pieces of a text that was put together. ``viewed`` is the tensor whose memory a view of it shares.
    """

    __slots__ = ("attributes", "default", "expression", "name", "origin", "parts", "tags", "viewed")

    def __init__(
        self,
        name: str,
        tags: Tags = NO_TAGS,
        *,
        origin: str = "other",
        default: Abstract | None = None,
        expression: Expression | None = None,
        parts: tuple[Abstract, ...] = (),
    ) -> None:
        self.name = clipped(name)
        self.tags = tags
        self.origin = origin
        self.default = default
        self.expression = expression
        self.parts = parts
        self.viewed: Abstract | None = None
        self.attributes: Cells = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Rest(Opaque):
    """What stands for the many that a value can be besides some that are kept apart."""

    __slots__ = ()


MAX_NAME = 160


def clipped(name: str) -> str:
    """Return a name that is short and as good as the whole: names are made of names, and grow with every line."""
    if len(name) < MAX_NAME:
        return name
    import zlib  # only here: few scripts need it

    digest = zlib.crc32(name.encode(errors="backslashreplace"))  # a text of the program can hold surrogates
    return f"{name[: MAX_NAME - 20]}…{digest:x}"


def derived(operator: str, *operands: object) -> Expression | None:
    """Return the expression of an operation, or ``None`` where an operand has none or it has grown past all use."""
    if None in operands:
        return None
    whole = Expression(operator, operands)
    left, pending = MAX_EXPRESSION, [whole]
    while pending and left >= 0:
        nested = [operand for operand in pending.pop().operands if type(operand) is Expression]
        pending += nested
        left -= len(nested)
    return whole if left >= 0 else None


MAX_EXPRESSION = 64
"""How many operations an expression is made of at most: ``x = x + x`` doubles them in every line."""


class Truth(Abstract):
    """A boolean that holds under a formula."""

    __slots__ = ("formula", "tags")

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.tags = kinds_in(formula) & TAINTING


TAINTING = frozenset({"rank", "data"})
"""The kinds of tests that what they decide is touched by."""


class External(Abstract):
    """A name outside the project, by its full dotted path."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Attribute(Abstract):
    """A method or attribute of something outside the project that nothing is known about yet."""

    __slots__ = ("name", "receiver", "tags")

    def __init__(self, receiver: Abstract, name: str) -> None:
        self.receiver = receiver
        self.name = name
        self.tags = NO_TAGS if name in OF_KIND else receiver.tags


OF_KIND = frozenset({"device", "dtype", "layout", "ndim"})
"""Attributes of a tensor that say nothing of what is in it."""


class Items(Abstract):
    """A list, tuple or set; ``open`` when it can hold more than what is known."""

    __slots__ = ("extra", "items", "kind", "open")

    def __init__(self, items: Iterable[Abstract], kind: str = "list", *, more: bool = False) -> None:
        self.items = list(islice(items, MAX_ITEMS + 1))
        self.kind = kind
        self.open = more or len(self.items) > MAX_ITEMS
        del self.items[MAX_ITEMS:]
        self.extra: Tags = NO_TAGS

    @property
    def tags(self) -> Tags:  # type: ignore[override]
        """What flowed into any item."""
        return _flow(self)


class Table(Abstract):
    """A dictionary with constant keys; ``open`` when it can hold keys that are not known.

    ``factory`` makes what is found under a key that is not there; ``module`` is the one whose names these are;
    ``written`` is where keys stand that can be options.
    """

    __slots__ = ("cells", "extra", "factory", "module", "open", "written")

    def __init__(self, cells: Cells | None = None, *, more: bool = False, module: "Module | None" = None) -> None:
        self.cells: Cells = {} if cells is None else cells
        self.factory: Abstract | None = None
        self.open = more
        self.extra: Tags = NO_TAGS
        self.module = module
        self.written: dict[object, Place] | None = None

    @property
    def tags(self) -> Tags:  # type: ignore[override]
        """What flowed into any value."""
        return _flow(self)


def _flow(holder: "Items | Table") -> Tags:
    """Return what flowed into a container, each container inside it asked once: they can hold each other."""
    found: set[Hashable] = set()
    seen: set[int] = set()
    pending: list[Abstract] = [holder]
    while pending:
        value = pending.pop()
        if not isinstance(value, (Items, Table)):
            found |= value.tags
        elif id(value) not in seen:
            seen.add(id(value))
            found |= value.extra
            if isinstance(value, Items):
                pending += value.items[:MAX_FLOW]
            else:
                held = (cell[-1][1] for cell in list(value.cells.values())[:MAX_FLOW])
                pending += [one for one in held if not isinstance(one, Table)]
    return frozenset(found)


MAX_ITEMS = 4_096
"""How many items of a container are kept; a program can double one in every line."""
MAX_FLOW = 16
"""How many items of a container are asked for what flowed into them."""


class Choice(Abstract):
    """One of several values, each under its condition."""

    __slots__ = ("options", "tags")

    def __init__(self, options: tuple[tuple[Condition, Abstract], ...]) -> None:
        self.options = options
        self.tags: Tags = NO_TAGS.union(*(value.tags for _, value in options))
        own = measures(self.tags)
        if own and any(not isinstance(value, Known) and not _is_a_ranks_own(value) for _, value in options):
            self.tags = put_together(
                self.tags
            )  # on some path it was put together, and what comes of it no longer tells which

    def __repr__(self) -> str:
        return " | ".join(f"{value!r} if {set(condition) or 'else'}" for condition, value in self.options)


def _is_a_ranks_own(value: Abstract) -> bool:
    """Whether a value is what a rank has computed, and nothing has put together: by a model that is not wrapped too."""
    computed = "data" in value.tags or any(isinstance(tag, tuple) and tag[0] == "forward" for tag in value.tags)
    return bool(measures(value.tags)) or (computed and not pooled_in(value.tags))


def options(value: Abstract, when: Condition = ALWAYS) -> Iterator[tuple[Condition, Abstract]]:
    """Yield the single values that a value can be, each under its condition."""
    if isinstance(value, Choice):
        for condition, option in value.options:
            yield when | condition, option
    else:
        yield when, value


def is_none(value: Abstract | None) -> bool:
    """Whether a value is certainly ``None`` or was not given."""
    return value is None or (isinstance(value, Known) and value.value is None)


def known(value: Abstract | None, default: object = None) -> object:
    """Return the value of a known one, else the default."""
    return value.value if isinstance(value, Known) else default

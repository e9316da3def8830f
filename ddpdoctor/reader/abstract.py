"""The abstract values that the reader computes with: what a name in the user's program may stand for.

They are mutable where the program's objects are (attributes, items), so that aliases see each other's writes.
"""

import ast
import zlib
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ddpdoctor.condition import ALWAYS, Condition, Formula, literals
from ddpdoctor.value import Ref
from ddpdoctor.world import Expression

if TYPE_CHECKING:
    from ddpdoctor.reader.frame import Frame
    from ddpdoctor.reader.project import Module
    from ddpdoctor.reader.walk import Call

Tags: TypeAlias = frozenset[Hashable]
"""What flowed into a value: taints (the strings of :data:`ddpdoctor.value.Taint`), and where data came from, as pairs:
``("loader", Ref)``, ``("batch", Ref)``, ``("forward", order)``, ``("index", Loop)``."""

NO_TAGS: Tags = frozenset()
Cells: TypeAlias = dict[Hashable, list[tuple[Condition, "Abstract"]]]


class Abstract:
    """Any value of the user's program."""

    __slots__ = ()
    tags: Tags = NO_TAGS


class Known(Abstract):
    """A value that is known: a constant, or computed from constants alone."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


NONE = Known(None)
TRUE = Known(True)
FALSE = Known(False)


class Opaque(Abstract):
    """A value that is not known but has a name.

    ``origin`` is that of :class:`ddpdoctor.value.Symbol`; ``expression`` says how each rank works the value out, and
    makes it a *rank number* where a rank is in it, which is more than being touched by one (``tags``); ``parts`` are
    the pieces of a text that was put together.
    """

    __slots__ = ("attributes", "default", "expression", "name", "origin", "parts", "tags")

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
        self.name = name if len(name) < MAX_NAME else f"{name[: MAX_NAME - 20]}…{zlib.crc32(name.encode()):x}"
        self.tags = tags
        self.origin = origin
        self.default = default
        self.expression = expression
        self.parts = parts
        self.attributes: Cells = {}

    def __repr__(self) -> str:
        return f"<{self.name}>"


MAX_NAME = 160


class Truth(Abstract):
    """A boolean that holds under a formula."""

    __slots__ = ("formula", "tags")

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.tags = frozenset(
            "rank" if literal.atom.kind == "rank" else "data"
            for literal in literals([formula])
            if literal.atom.kind in ("rank", "data")
        )


class External(Abstract):
    """A name outside the project, by its full dotted path."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<{self.path}>"


class Made(Abstract):
    """What calling something outside the project gave: a loader, a sampler, a layer, a wrapped model.

    ``inner`` is the model in a wrapper; ``owner`` the module that holds this one as an attribute; ``wrappers`` the
    wrappers around it, each under its condition.
    """

    __slots__ = ("args", "attributes", "inner", "kwargs", "node", "open", "owner", "path", "ref", "tags", "wrappers")

    def __init__(
        self,
        path: str,
        ref: Ref,
        args: "tuple[Abstract, ...]" = (),
        kwargs: "dict[str, Abstract] | None" = None,
        tags: Tags = NO_TAGS,
    ) -> None:
        self.path = path
        self.ref = ref
        self.args = args
        self.kwargs = kwargs or {}
        self.tags = tags
        self.attributes: Cells = {}
        self.inner: Abstract | None = None
        self.owner: Abstract | None = None
        self.wrappers: list[tuple[Condition, Made]] = []
        self.open = False  # called with ** or * of something unknown
        self.node: ast.AST | None = None

    def __repr__(self) -> str:
        return f"<{self.path} made in line {self.ref.place.line}>"

    def argument(self, name: str, position: int | None = None) -> Abstract | None:
        """Return the argument of the call that made this value, or ``None``."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position is not None and position < len(self.args) else None


class Function(Abstract):
    """A function of the project."""

    __slots__ = (
        "attributes",
        "defaults",
        "frame",
        "keyword_defaults",
        "kind",
        "module",
        "name",
        "node",
        "owner",
        "within",
    )

    def __init__(self, node: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda", name: str, frame: "Frame") -> None:
        self.node = node
        self.name = name
        self.frame = frame
        self.module: Module = frame.module
        self.owner: Class | None = None
        self.kind = "function"  # function, property, staticmethod, classmethod, context manager
        self.defaults: list[Abstract] = []
        self.keyword_defaults: list[Abstract | None] = []
        self.within: tuple[str, ...] = ()  # no_grad and the like, from decorators
        self.attributes: Cells = {}

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class Class(Abstract):
    """A class of the project; ``bases`` are classes of the project and externals."""

    __slots__ = ("attributes", "bases", "fields", "frame", "module", "name", "node", "order")

    def __init__(self, node: ast.ClassDef, bases: list[Abstract], frame: "Frame") -> None:
        self.node = node
        self.name = node.name
        self.bases = bases
        self.frame = frame
        self.module: Module = frame.module
        self.attributes: Cells = {}
        self.fields: tuple[tuple[str, ast.expr | None], ...] | None = None  # of a dataclass or named tuple
        self.order: tuple[Class, ...] | None = None

    def __repr__(self) -> str:
        return f"<class {self.name}>"

    def resolution(self) -> "tuple[Class, ...]":
        """Return the project's classes in the order in which attributes are looked up."""
        if self.order is None:
            self.order = (self,)  # ends a cyclic definition
            later = [base.resolution() for base in self.bases if isinstance(base, Class)]
            flat = [cls for chain in later for cls in chain]
            # of a class that several bases share, the last mention counts, as in Python's own order
            self.order = (self, *(cls for i, cls in enumerate(flat) if cls not in flat[i + 1 :]))
        return self.order

    def external_bases(self) -> tuple[str, ...]:
        """Return the dotted paths of the classes outside the project that this one derives from."""
        return tuple(base.path for cls in self.resolution() for base in cls.bases if isinstance(base, External))


class Object(Abstract):
    """An instance of a class of the project."""

    __slots__ = ("attributes", "cls", "inner", "owner", "ref", "tags", "wrappers")

    def __init__(self, cls: Class, ref: Ref) -> None:
        self.cls = cls
        self.ref = ref
        self.tags = NO_TAGS
        self.attributes: Cells = {}
        self.inner: Abstract | None = None
        self.owner: Abstract | None = None
        self.wrappers: list[tuple[Condition, Made]] = []

    def __repr__(self) -> str:
        return f"<{self.cls.name} made in line {self.ref.place.line}>"


class Bound(Abstract):
    """A method of the project with the object it is called on."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Function, receiver: Abstract) -> None:
        self.function = function
        self.receiver = receiver


class Attribute(Abstract):
    """A method or attribute of something outside the project that nothing is known about yet."""

    __slots__ = ("name", "receiver", "tags")

    def __init__(self, receiver: Abstract, name: str) -> None:
        self.receiver = receiver
        self.name = name
        self.tags = receiver.tags


class Super(Abstract):
    """What ``super()`` gives in a method of ``cls`` called on ``receiver``."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Abstract) -> None:
        self.cls = cls
        self.receiver = receiver


class Package(Abstract):
    """A module of the project, as a value."""

    __slots__ = ("module",)

    def __init__(self, module: "Module") -> None:
        self.module = module


class Import(Abstract):
    """A name that was imported from a project module and is looked up when it is first used."""

    __slots__ = ("module", "name", "submodule")

    def __init__(self, module: "Module", name: str, submodule: "Module | None") -> None:
        self.module = module
        self.name = name
        self.submodule = submodule


class Items(Abstract):
    """A list, tuple or set; ``open`` when it can hold more than what is known."""

    __slots__ = ("extra", "items", "kind", "open")

    def __init__(self, items: Iterable[Abstract], kind: str = "list", *, more: bool = False) -> None:
        self.items = list(items)
        self.kind = kind
        self.open = more
        self.extra: Tags = NO_TAGS

    @property
    def tags(self) -> Tags:  # type: ignore[override]
        """What flowed into any item."""
        return self.extra.union(*(item.tags for item in self.items[:MAX_FLOW]))


class Table(Abstract):
    """A dictionary with constant keys; ``open`` when it can hold keys that are not known."""

    __slots__ = ("cells", "extra", "open")

    def __init__(self, cells: Cells | None = None, *, more: bool = False) -> None:
        self.cells: Cells = {} if cells is None else cells
        self.open = more
        self.extra: Tags = NO_TAGS

    @property
    def tags(self) -> Tags:  # type: ignore[override]
        """What flowed into any value."""
        values = (cell[-1][1] for cell in list(self.cells.values())[:MAX_FLOW])
        return self.extra.union(*(value.tags for value in values if not isinstance(value, Table)))


MAX_FLOW = 16
"""How many items of a container are asked for what flowed into them."""


class Choice(Abstract):
    """One of several values, each under its condition."""

    __slots__ = ("options", "tags")

    def __init__(self, options: tuple[tuple[Condition, Abstract], ...]) -> None:
        self.options = options
        self.tags: Tags = NO_TAGS.union(*(value.tags for _, value in options))

    def __repr__(self) -> str:
        return " | ".join(f"{value!r} if {set(condition) or 'else'}" for condition, value in self.options)


class Partial(Abstract):
    """A function with some arguments given."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Abstract, args: tuple[Abstract, ...], kwargs: dict[str, Abstract]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs


class Generator(Abstract):
    """A generator that was made and not yet run; its body runs where it is iterated or entered."""

    __slots__ = ("call", "function", "tags")

    def __init__(self, function: Function, call: "Call") -> None:
        self.function = function
        self.call = call
        self.tags: Tags = call.flow()


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


def text(value: Abstract) -> str:
    """Return the canonical text of a value, by which conditions on it are told apart."""
    if isinstance(value, Known):
        return repr(value.value)[:60]
    if isinstance(value, Opaque):
        return value.name
    if isinstance(value, External):
        return value.path
    if isinstance(value, (Made, Object)):
        name = value.path if isinstance(value, Made) else value.cls.name
        return f"{name}@{value.ref.place.line}.{value.ref.n}"
    if isinstance(value, Attribute):
        return f"{text(value.receiver)}.{value.name}"
    if isinstance(value, Truth):
        return str(value.formula)
    if isinstance(value, Choice):
        return "(" + " | ".join(sorted(text(option)[:40] for _, option in value.options)) + ")"
    if isinstance(value, (Function, Class)):
        return value.name
    if isinstance(value, Items):
        return f"[{', '.join(text(item)[:40] for item in value.items[:8])}{', …' if value.open else ''}]"
    if isinstance(value, Table):
        return f"{{{', '.join(str(key) for key in list(value.cells)[:8])}}}"
    return f"{type(value).__name__}@{id(value):x}"

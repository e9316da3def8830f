"""The abstract values that stand for functions, classes, modules and the objects that they make."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ddpdoctor.atom import Condition
from ddpdoctor.reader.abstract import Abstract, Cells, External, Items, options
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.value import Ref

if TYPE_CHECKING:
    from ddpdoctor.reader.call import Call
    from ddpdoctor.reader.frame import Frame
    from ddpdoctor.reader.module import Module


class Made(Abstract):
    """What calling something outside the project gave: a loader, a sampler, a layer, a wrapped model.

    ``inner`` is the model in a wrapper; ``owner`` the module that holds this one as an attribute; ``wrappers`` the
    wrappers around it, each under its condition.
    """

    __slots__ = (
        "args",
        "attributes",
        "home",
        "inner",
        "kwargs",
        "node",
        "of_part",
        "open",
        "owner",
        "path",
        "ref",
        "tags",
        "wrappers",
    )

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
        self.home = ""  # the module that made it, where that is not the script
        self.wrappers: list[tuple[Condition, Made]] = []
        self.open = False  # called with ** or * of something unknown
        self.of_part = False  # over the parameters of a part of ``inner``, which the source does not show
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
        "on_first_rank",
        "options",
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
        self.options: dict[str, Abstract] = {}  # parameters that the command line gives, from decorators
        self.on_first_rank = False  # whether a decorator lets it run on rank 0 only
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
            self.order = (self, *reversed(dict.fromkeys(reversed(flat))))
        return self.order

    def external_bases(self) -> tuple[str, ...]:
        """Return the dotted paths of the classes outside the project that this one derives from."""
        return tuple(base.path for cls in self.resolution() for base in cls.bases if isinstance(base, External))

    def let_go(self) -> None:
        """Forget all values: the program has been read."""
        self.attributes.clear()
        self.order = None


class Object(Abstract):
    """An instance of a class of the project."""

    __slots__ = ("attributes", "cls", "home", "inner", "owner", "ref", "tags", "wrappers")

    def __init__(self, cls: Class, ref: Ref) -> None:
        self.cls = cls
        self.ref = ref
        self.tags = NO_TAGS
        self.attributes: Cells = {}
        self.inner: Abstract | None = None
        self.owner: Abstract | None = None
        self.home = ""  # the module that made it, where that is not the script
        self.wrappers: list[tuple[Condition, Made]] = []

    def __repr__(self) -> str:
        return f"<{self.cls.name} made in line {self.ref.place.line}>"

    def fields_in_order(self) -> Items | None:
        """Return a named tuple as the tuple that it is, where each of its fields has one value."""
        if not any(base.endswith("NamedTuple") for base in self.cls.external_bases()):
            return None
        names = [name for cls in reversed(self.cls.resolution()) for name, _ in cls.fields or ()]
        cells = [self.attributes.get(name, []) for name in names]
        return Items([cell[0][1] for cell in cells], "tuple") if all(len(cell) == 1 for cell in cells) else None

    def let_go(self) -> None:
        """Forget all values: the program has been read."""
        self.attributes.clear()
        self.wrappers.clear()
        self.inner = self.owner = None


class Bound(Abstract):
    """A method of the project with the object it is called on."""

    __slots__ = ("function", "receiver")

    def __init__(self, function: Function, receiver: Abstract) -> None:
        self.function = function
        self.receiver = receiver


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


def objects_that_matter(value: Abstract, depth: int = 0) -> Iterator[Ref]:
    """Yield the objects in a value to which something done out of sight could change what a check concludes."""
    for _, option in options(value):
        if isinstance(option, Items):
            for item in option.items if depth < MAX_NESTING else ():
                yield from objects_that_matter(item, depth + 1)
            continue
        made = option.inner if isinstance(option, Object) else option
        if isinstance(option, (Made, Object)) and isinstance(made, Made) and made.path.startswith(THAT_MATTER):
            yield option.ref
        yield from (tag[1] for tag in option.tags if isinstance(tag, tuple) and tag[0] == "loader")


THAT_MATTER = ("torch.utils.data.", "torch.nn.parallel.", "torch.multiprocessing.spawn", "multiprocessing.Process")
MAX_NESTING = 3
"""How deep objects are looked for in lists inside lists."""

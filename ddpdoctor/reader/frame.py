"""One activation of a function, class body or module while it is interpreted."""

from collections.abc import Callable

from ddpdoctor.atom import Condition
from ddpdoctor.events import Loop
from ddpdoctor.reader.abstract import Abstract, Cells
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Class, Function


class Frame:
    """Where names are looked up and what has been returned so far."""

    def __init__(
        self,
        module: Module,
        cells: Cells,
        *,
        function: Function | None = None,
        parent: "Frame | None" = None,
        owner: Class | None = None,
    ) -> None:
        self.module = module
        self.cells = cells
        self.function = function
        self.parent = parent
        self.owner = owner  # the class of the method that runs, for super()
        self.receiver: Abstract | None = None
        self.is_class = False
        self.globals: frozenset[str] = frozenset()
        self.nonlocals: frozenset[str] = frozenset()
        self.returns: list[tuple[Condition, Abstract]] = []
        self.loops: list[tuple[Loop | None, Condition]] = []  # those around, each with the path before; None: unrolled
        self.catching: list[tuple[int, frozenset[str]]] = []  # how many loops are around each try, and what it catches
        self.exits: list[Condition] = []  # where the program itself was left
        self.on_yield: Callable[[Abstract], Abstract] | None = None

    def let_go(self) -> None:
        """Forget all values: the program has been read."""
        self.cells.clear()
        self.returns.clear()

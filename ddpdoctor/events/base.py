"""What every event has: its place, process, order and condition, the loops and the blocks that it is in."""

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.record import Record
from ddpdoctor.value import Ref, Value
from ddpdoctor.world import Expression

MAIN = "main"
"""The process that runs the script itself; those it starts are ``child 0``, ``child 1`` … by the place of the start."""


class Loop(Record):
    """A loop that an event is in: how it is written, over which loaders, for how many rounds, and whether it has a
    ``break`` or ``return`` that may end it before. ``count`` is how the number of rounds of a range is worked out.
    ``cut`` is where each rank cut its own part out of what is gone through, where some can get more than others.
    """

    place: Place
    kind: str  # for, while, comprehension, drawing (the loop draws from the generator that the event is in)
    loaders: tuple[Ref, ...] = ()
    rounds: Value | None = None
    count: Expression | None = None
    left_early: bool = False
    cut: Place | None = None


class Within(NamedTuple):
    """A block that an event is in: ``try`` (one that has handlers), ``protected`` (a ``try`` with a ``finally``),
    ``except``, ``catch-all`` (an ``except`` for whatever goes wrong), ``failed-step`` (one for what a training step
    raises), ``finally``, ``with``, ``atexit``, ``no_grad``, ``no_sync``, ``join``, ``autocast``, ``lock`` (a file's,
    between processes) or ``forward`` (of a wrapped model).
    """

    kind: str
    place: Place


class Event(Record):
    """Something that a training script does."""

    place: Place
    stack: tuple[Place, ...] = ()
    process: str = MAIN
    order: int = 0
    when: Condition = ALWAYS
    loops: tuple[Loop, ...] = ()
    within: tuple[Within, ...] = ()
    rank: int | None = None
    time: float = 0.0

    def is_within(self, *kinds: str) -> bool:
        """Whether the event is in a block of one of the given kinds."""
        return any(block.kind in kinds for block in self.within)

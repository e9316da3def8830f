"""The loops of the user's code while they run, so that those around the training can be brought to a natural end.

``source_cut.py`` writes calls of these methods into the heads of the user's loops.
"""

import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from ddpdoctor.harness.child.passing import through


class Stop(BaseException):
    """Leaves the user's script when its loops cannot be ended: ``except Exception`` does not catch it."""


COUNTED = (zip, itertools.islice)
"""Iterators that may end before one that they draw from."""
CO_GENERATOR = 0x20
"""The flag of a generator's code (``inspect.CO_GENERATOR``)."""


class Loop:
    """A loop that is running: ``cut`` once it is to end; ``leaves`` when it may end before what it loops over.

    A ``for`` loop is forgotten when it ends; of a ``while`` loop that is not told, so it keeps its code and lines.
    """

    __slots__ = ("code", "cut", "first", "last", "leaves")

    def __init__(self, code: CodeType | None = None, first: int = 0, last: int = 0, *, leaves: bool = False) -> None:
        self.cut = False
        self.leaves = leaves
        self.code = code
        self.first = first
        self.last = last

    def around(self, frame: FrameType) -> bool:
        """Whether the frame, which is on the stack, is inside this loop of its now."""
        return self.code is None or (self.code is frame.f_code and self.first <= (frame.f_lineno or 0) <= self.last)


class Asking:
    """A call of ``next`` in the user's code: from which frame, and whether it is ready for the end."""

    __slots__ = ("frame", "ready")

    def __init__(self, frame: FrameType, *, ready: bool) -> None:
        self.frame = frame
        self.ready = ready


class Rounds:
    """The running loops of a process, by the frame that runs them.

    ``cut_short`` once a loop was ended that would have gone on, as far as its iterator can tell.
    """

    def __init__(self) -> None:
        self.late = False
        self.cut_short = False
        self.asking: Asking | None = None
        self._running: dict[int, list[Loop]] = {}
        self._whiles: dict[tuple[int, CodeType, int], Loop] = {}

    def of(self, iterable: Iterable[Any], leaves: bool = False) -> Iterator[Any]:
        """Return the iterator of a ``for`` loop or a comprehension: it ends once the loop is cut.

        ``leaves`` when something in the loop can leave it.
        """
        iterator = through(iter, iterable)
        loop = Loop(leaves=leaves or isinstance(iterable, COUNTED))
        return self._each(iterator, loop, self._running.setdefault(id(sys._getframe(1)), []))

    def _each(self, iterator: Iterator[Any], loop: Loop, siblings: list[Loop]) -> Iterator[Any]:
        siblings.append(loop)
        try:
            for item in iterator:
                yield item
                if loop.cut:
                    self.cut_short = self.cut_short or _has_more(iterator)
                    return
                if self.late:
                    self.stop()
        finally:
            siblings.remove(loop)

    def again(self, first: int, last: int) -> bool:
        """Whether a ``while`` loop on these lines of the calling frame may go on to its test."""
        if self.late:
            self.stop()
        frame = sys._getframe(1)
        key = id(frame), frame.f_code, first
        loop = self._whiles.get(key)
        if loop is None:
            loop = self._whiles[key] = Loop(frame.f_code, first, last)
            self._running.setdefault(id(frame), []).append(loop)
        elif loop.cut:
            del self._whiles[key]
            self._running[id(frame)].remove(loop)
            self.cut_short = True  # what its test would have said is not asked: it may do something
            return False
        return True

    def asks(self, function: Callable[..., Any], ready: bool) -> Callable[..., Any]:
        """Return ``next`` as the user's code calls it; ``ready`` when an end of the iterator would be caught."""
        before, frame = self.asking, sys._getframe(1)

        def ask(*arguments: Any) -> Any:
            self.asking = Asking(frame, ready=ready or len(arguments) > 1)
            try:
                return through(function, *arguments)
            finally:
                self.asking = before

        return ask

    def stop(self) -> None:
        """Leave the user's script.

        Raises Stop, once: what its ``finally`` blocks do is not stopped again.
        """
        self.late = False
        self.cut_short = True
        raise Stop("the run was cut short")

    def may_leave_early(self, frame: FrameType | None) -> bool:
        """Whether the loop that draws from an iterator may end before it: of a generator's, also the one around it."""
        for loop, of in self._around(frame):
            if loop.leaves or not of.f_code.co_flags & CO_GENERATOR:
                return loop.leaves
        return False

    def around(self, frame: FrameType | None, until: FrameType | None = None) -> Iterator[Loop]:
        """Yield the running loops around a frame, innermost first, in the frames inside ``until`` where it is given."""
        for loop, _ in self._around(frame, until):
            yield loop

    def _around(self, frame: FrameType | None, until: FrameType | None = None) -> Iterator[tuple[Loop, FrameType]]:
        while frame is not None and frame is not until:
            for loop in reversed(self._running.get(id(frame), ())):
                if loop.around(frame):
                    yield loop, frame
            frame = frame.f_back


def _has_more(iterator: Iterator[Any]) -> bool:
    """Whether an iterator would have gone on; those that cannot tell without being asked for more count as if so."""
    try:
        return through(operator.length_hint, iterator, 1) > 0
    except Exception:  # a method of the script's own
        return True

"""Says how a process of the script came to its end."""

import contextlib
import multiprocessing
import multiprocessing.util
import os
import sys
from collections.abc import Callable
from typing import Any

from ddpdoctor.events import MAIN, Ended
from ddpdoctor.harness.child.failures import LONGEST_MESSAGE
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.own_streams import flush
from ddpdoctor.place import Place


class Ending:
    """The end of one process: decided when the user's code has ended, written when what it does at exit has too."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._how = "exit"
        self._status: int | None = None
        self._said = ""
        self._at: tuple[Place, tuple[Place, ...]] | None = None
        self._alive: int | None = None
        self._written = False
        self._pid = os.getpid()
        self._leave: Callable[[int], Any] = os._exit
        self._exit_at_once()

    def came(self, how: str, status: int | None = None, at: tuple[Place, tuple[Place, ...]] | None = None) -> None:
        """Take note that the user's code has ended."""
        self._how, self._status, self._at = how, status, at
        self._alive = alive_children()
        self._observer.done = True
        self._observer.doing = "ended"

    def left(self, leaving: SystemExit) -> int:
        """Take note that the user's code left by ``sys.exit``, and return the exit status that comes of it.

        No code is 0, an integer itself, and anything else 1.
        """
        observer, code = self._observer, leaving.code
        self._said = "" if code is None or isinstance(code, int) else str(code)[:LONGEST_MESSAGE]
        status = 0 if code is None else code if isinstance(code, int) else 1
        if observer.failures.left:
            self.came("exception", status)  # of torch's, which has passed the exception on
            return status
        if observer.trial is not None:
            observer.trial.left()
        at = observer.frames.raised(leaving.__traceback__)
        if status and observer.failures.usage_error:
            observer.failures.raised(leaving)
        elif status:
            self._failed_with("SystemExit", status, leaving.__context__, at)
        self.came("exit", status, at=at)
        return status

    def _failed_with(
        self, leaving: str, status: int, handled: BaseException | None, at: tuple[Place, tuple[Place, ...]]
    ) -> None:
        """Write a failure that shows in the exit status alone, with the exception that was ``handled`` meanwhile.

        A started process that has met no other rank is none, and may have its own use for a status.
        """
        observer = self._observer
        if observer.recorder.process != MAIN and not observer.collectives.issued:
            return
        if isinstance(handled, Exception):
            observer.failures.raised(handled)
        else:
            observer.failures.exited(leaving, status, self._said, at)

    def failed(self, error: BaseException) -> None:
        """Take note that an exception left the user's code."""
        self._observer.leaves(error)
        self.came("exception", 1)

    def at_exit(self) -> None:
        """Write the end: registered before the user's functions for the exit, this runs after them."""
        if self._written or self._pid != os.getpid():
            return
        self._written = True
        observer = self._observer
        observer.recorder.write(
            Ended,
            at=self._at or observer.frames.here(sys._getframe()),
            how=self._how,
            status=self._status,
            said=self._said,
            alive=alive_children() if self._alive is None else self._alive,
        )
        observer.done = True
        observer.pulse.stop()

    def at_exit_of_interpreter(self) -> None:
        """Write the end, wait for started processes as multiprocessing does at exit, and leave.

        Functions for the exit run last in, first out: this one, registered before any of the script's, runs after
        them. What would follow, taking torch apart, costs a second of CPU and shows nothing.
        """
        if self._pid != os.getpid():
            return
        self.at_exit()
        wait: Callable[[], None] | None = getattr(multiprocessing.util, "_exit_function", None)
        if wait is None or self._status is None:
            return
        wait()
        flush()
        self._leave(self._status)

    def _exit_at_once(self) -> None:
        """Write the end when the script leaves by ``os._exit``, which asks nobody."""

        def replace(original: Any) -> Any:
            self._leave = original

            def _exit(status: int) -> Any:
                frame = sys._getframe(1)
                if self._observer.trial is None and self._pid == os.getpid() and self._observer.frames.is_user(frame):
                    if status:
                        self._failed_with("os._exit", status, sys.exc_info()[1], self._observer.frames.here(frame))
                    self.came("exit", status)
                    self.at_exit()
                return original(status)

            return _exit

        self._observer.patches.wrap(os, "_exit", replace)


def alive_children() -> int:
    """Return how many of the processes that this one started still run."""
    with contextlib.suppress(OSError, ValueError):
        return len(multiprocessing.active_children())
    return 0

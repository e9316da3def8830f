"""Writes down exceptions that leave the user's code, and whose fault each is."""

import os
import traceback as tracebacks
from typing import Protocol

from ddpdoctor.events import Raised
from ddpdoctor.harness.child.frames import OURS, UserFrames
from ddpdoctor.harness.child.own_streams import print_error
from ddpdoctor.harness.child.passing import passes_on
from ddpdoctor.harness.child.raisers import foreign_cause, says_that_a_peer_is_gone, type_name
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.place import Place

LONGEST_MESSAGE = 4000

OURS_NAME = __name__.partition(".")[0]


class Cutting(Protocol):
    """What is asked of the budget."""

    @property
    def cut_short(self) -> bool:
        """Whether what runs now follows a training of which something was left out."""


class Failures:
    """The exceptions of this process."""

    def __init__(self, recorder: Recorder, frames: UserFrames, budget: Cutting) -> None:
        self.usage_error: str | None = None
        self._recorder = recorder
        self._frames = frames
        self._budget = budget
        self._seen: BaseException | None = None

    @property
    def left(self) -> bool:
        """Whether an exception has left the user's code."""
        return self._seen is not None

    def raised(self, error: BaseException) -> None:
        """Write an exception that left the user's code; the same one only once, however far it goes."""
        if error is self._seen:
            return
        self._seen = error
        foreign = foreign_cause(error, self._frames)
        self._recorder.write(
            Raised,
            at=self._at(error),
            type=type_name(error),
            message=self._message(error),
            ours=is_ours(error),
            caused_by_peer=says_that_a_peer_is_gone(error, self._frames),
            foreign=None if foreign is None else _with_whole_path(foreign)[:LONGEST_MESSAGE],
            missing=self._missing(error),
            after_cut=self._budget.cut_short,
        )

    def exited(self, leaving: str, status: int, said: str, at: tuple[Place, tuple[Place, ...]] | None) -> None:
        """Write that the script left with a status that is not 0: the exception for which it did, or else the exit.

        ``leaving`` is ``SystemExit`` or ``os._exit``, ``said`` the text that it was given.
        """
        if self._seen is not None:
            return
        self._seen = SystemExit(status)
        self._recorder.write(Raised, at=at, type=leaving, message=said, after_cut=self._budget.cut_short, status=status)

    def _at(self, error: BaseException) -> tuple[Place, tuple[Place, ...]]:
        place, stack = self._frames.raised(error.__traceback__)
        if isinstance(error, SyntaxError) and error.filename and error.lineno:
            path = self._frames.path(error.filename)
            if path is not None and (path, error.lineno) != place[:2]:
                return Place(path, error.lineno), (*stack, place) if place.line else stack
        return place, stack

    def _message(self, error: BaseException) -> str:
        text = self.usage_error if isinstance(error, SystemExit) and self.usage_error else str(error)
        return text[:LONGEST_MESSAGE]

    def _missing(self, error: BaseException) -> str | None:
        """Return the module, file or argument that the script wanted and did not get."""
        if isinstance(error, ModuleNotFoundError):
            return error.name
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else str(error)
        if isinstance(error, SystemExit):
            return self.usage_error
        return None


def _with_whole_path(error: BaseException) -> str:
    """Return what an exception says; a relative path is joined to where the script is, which others do not know."""
    name = error.filename if isinstance(error, OSError) else None
    text = str(error)
    if not isinstance(name, str) or os.path.isabs(name):
        return text
    try:
        return text.replace(repr(name), repr(os.path.abspath(name)))
    except OSError:  # where the script is was removed
        return text


def is_ours(error: BaseException) -> bool:
    """Whether an exception was raised by code of this package's own: its innermost frame is ours and no mere passage.

    A frame that passes a call on to a function without frames (one written in C) is the innermost of that function's
    exceptions. Stand-ins for absent modules raise in the place of those modules.
    """
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == OURS_NAME
    innermost = None
    traceback = error.__traceback__
    while traceback is not None:
        innermost = traceback.tb_frame.f_code
        traceback = traceback.tb_next
    return innermost is not None and innermost.co_filename.startswith(OURS) and not passes_on(innermost)


def print_without_ours(error: BaseException) -> None:
    """Print an exception as the interpreter would have, without the frames by which the script was started."""
    report = tracebacks.TracebackException.from_exception(error)
    link: tracebacks.TracebackException | None = report
    while link is not None:
        kept = [frame for frame in link.stack if not frame.filename.startswith(OURS)]
        link.stack = tracebacks.StackSummary.from_list(kept or list(link.stack))
        link = link.__cause__ or link.__context__
    print_error("".join(report.format()))

"""Finds the user's frames on a stack: where an event happens and through which calls."""

import os
import sys
import sysconfig
import threading
import tokenize
from collections.abc import Iterable, Iterator
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any

import ddpdoctor
from ddpdoctor.place import Place

OURS = os.path.dirname(os.path.abspath(ddpdoctor.__file__)) + os.sep
"""The folder of this package: its frames are never the user's."""

_INSTALLED = ("site-packages", "dist-packages")
DEEPEST = 60
"""The user's frames that an event keeps at most."""


class UserFrames:
    """Tells the user's files from all others, and turns frames into places.

    The user's files are those beneath the project's root, installed packages and this one left out.
    """

    def __init__(self, root: str, script: str) -> None:
        self._root = os.path.join(os.path.abspath(root), "")
        self._installed = tuple(
            {
                os.path.join(path, "")
                for path in map(sysconfig.get_paths().get, ("stdlib", "platlib", "purelib"))
                if path
            }
        )
        self._files: dict[str, str | None] = {}
        self._places: dict[tuple[CodeType, int], Place] = {}
        self._lines: dict[str, list[str]] = {}
        self._nowhere = Place(script, 0)
        self.bottom: FrameType | None = None  # in a forked process: what is around it belongs to the parent

    def path(self, filename: str) -> str | None:
        """Return the absolute path of one of the user's files, ``None`` for any other."""
        try:
            return self._files[filename]
        except KeyError:
            path = self._files[filename] = self._absolute(filename)
            return path

    def _absolute(self, filename: str) -> str | None:
        if filename.startswith("<"):
            return None
        path = os.path.abspath(filename)
        if not path.startswith(self._root) or path.startswith(OURS) or path.startswith(self._installed):
            return None
        return None if any(part in _INSTALLED for part in path.split(os.sep)) else path

    def is_user(self, frame: FrameType | None) -> bool:
        """Whether a frame runs one of the user's files."""
        return frame is not None and self.path(frame.f_code.co_filename) is not None

    def outward(self, frame: FrameType | None) -> Iterator[FrameType]:
        """Yield the user's frames from a frame outward, innermost first."""
        while frame is not None and frame is not self.bottom:
            if self.path(frame.f_code.co_filename) is not None:
                yield frame
            frame = frame.f_back

    def here(self, frame: FrameType | None = None) -> tuple[Place, tuple[Place, ...]]:
        """Return where the user's code is: the innermost place and the calls that led there, outermost first.

        A thread without any of the user's frames (autograd has such) is where the main thread is.
        """
        found = list(islice(self.outward(frame or sys._getframe(1)), DEEPEST))
        if not found and threading.current_thread() is not threading.main_thread():
            found = list(islice(self.outward(self.main()), DEEPEST))
        return self._laid_out(map(self.place, found))

    def main(self) -> FrameType | None:
        """Return the innermost frame of the main thread."""
        return sys._current_frames().get(threading.main_thread().ident or 0)

    def raised(self, traceback: TracebackType | None) -> tuple[Place, tuple[Place, ...]]:
        """Return where in the user's code an exception was raised, and the calls that led there."""
        found: list[Place] = []
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self.path(code.co_filename) is not None:
                found.append(self._place(code, traceback.tb_lasti, traceback.tb_lineno))
            traceback = traceback.tb_next
        return self._laid_out(reversed(found))

    def _laid_out(self, inner_first: Iterable[Place]) -> tuple[Place, tuple[Place, ...]]:
        places = tuple(inner_first)
        return (places[0], places[:0:-1]) if places else (self._nowhere, ())

    def place(self, frame: FrameType) -> Place:
        """Return the place at which a frame of the user's is."""
        return self._place(frame.f_code, frame.f_lasti, frame.f_lineno)

    def _place(self, code: CodeType, instruction: int, line: int | None) -> Place:
        key = code, instruction
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = self._new_place(code, instruction, line or code.co_firstlineno)
        return known

    def _new_place(self, code: CodeType, instruction: int, line: int) -> Place:
        file = self.path(code.co_filename) or code.co_filename
        positions: Any = getattr(code, "co_positions", None)  # Python 3.11
        if positions is None or instruction < 0:
            return Place(file, line)
        first, last, column, end_column = next(islice(positions(), instruction // 2, None), (None,) * 4)
        if first != line or column is None or end_column is None or last is None:
            return Place(file, line)
        return Place(file, line, self._column(file, line, column), last, self._column(file, last, end_column))

    def _column(self, file: str, line: int, offset: int) -> int:
        """Return the column, from 1 and in characters, of an offset in UTF-8 bytes: in those the interpreter counts."""
        lines = self._text(file)
        if line > len(lines):
            return offset + 1
        return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1

    def _text(self, file: str) -> list[str]:
        """Return the lines of a file, and none where bytes and characters are the same."""
        lines = self._lines.get(file)
        if lines is None:
            try:
                with tokenize.open(file) as opened:
                    text = opened.read()
            except (OSError, SyntaxError, ValueError):  # gone meanwhile, or of an encoding that nobody knows
                text = ""
            lines = self._lines[file] = [] if text.isascii() else text.split("\n")
        return lines

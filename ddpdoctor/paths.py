"""Paths, and what has paths in it, as seen from the working directory."""

import enum
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from math import isfinite
from typing import Any

from ddpdoctor.place import Place


class Paths:
    """Writes paths, and texts that have paths in them, as seen from the working directory.

    In texts those that lie in it are written so, and those in the folders ``roots`` (absolute), wherever these are.
    """

    def __init__(self, directory: str, roots: Iterable[str] = ()) -> None:
        self._directory = directory
        folders = sorted({directory, *roots}, key=len, reverse=True)
        inside = [(folder.rstrip(os.sep) + os.sep, self.shown(folder)) for folder in folders]
        self._folders = [(f, "" if shown == "." else f"{shown}/") for f, shown in inside if len(f) > 1]

    def shown(self, path: str) -> str:
        """Return a path relative to the working directory, with ``/``."""
        if not os.path.isabs(path):
            return path.replace(os.sep, "/")
        try:
            return os.path.relpath(path, self._directory).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")

    def text(self, text: str) -> str:
        """Return a text on one line, with the paths of the user's files made relative."""
        return self._relative(" ".join(text.split()))

    def _relative(self, text: str) -> str:
        for folder, shown in self._folders:
            if folder in text:
                text = text.replace(folder, shown)
        return text

    def plain(self, value: object) -> Any:
        """Return evidence as JSON can write it; a place is ``file:line``."""
        if isinstance(value, Place):
            return f"{self.shown(value.file)}:{value.line}"
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, float) and not isfinite(value):  # JSON has no such numbers
            return str(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self._relative(value)
        if isinstance(value, Mapping):
            return {str(self.plain(key)): self.plain(item) for key, item in value.items()}
        if isinstance(value, Set):
            return sorted((self.plain(item) for item in value), key=lambda item: (isinstance(item, str), item))
        if isinstance(value, Sequence):
            return [self.plain(item) for item in value]
        return str(value)

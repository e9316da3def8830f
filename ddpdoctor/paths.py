"""Paths, and what has paths in it, as seen from the working directory."""

import enum
import os
from collections.abc import Mapping, Sequence, Set
from math import isfinite
from typing import Any

from ddpdoctor.place import Place


class Paths:
    """Writes paths, and texts that have paths in them, as seen from the working directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._inside = directory.rstrip(os.sep) + os.sep

    def shown(self, path: str) -> str:
        """Return a path relative to the working directory, with ``/``."""
        if not os.path.isabs(path):
            return path.replace(os.sep, "/")
        try:
            return os.path.relpath(path, self._directory).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")

    def text(self, text: str) -> str:
        """Return a text on one line, with the paths of files inside the working directory made relative."""
        return " ".join(text.split()).replace(self._inside, "") if len(self._inside) > 1 else " ".join(text.split())

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
            return value.replace(self._inside, "") if len(self._inside) > 1 else value
        if isinstance(value, Mapping):
            return {str(self.plain(key)): self.plain(item) for key, item in value.items()}
        if isinstance(value, Set):
            return sorted((self.plain(item) for item in value), key=lambda item: (isinstance(item, str), item))
        if isinstance(value, Sequence):
            return [self.plain(item) for item in value]
        return str(value)

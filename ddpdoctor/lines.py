"""The lines of the user's files that findings point to and ignore comments stand on, each file read once."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ddpdoctor.content import decode, is_notebook, lines_of, read_file
from ddpdoctor.place import Place

MOST_BYTES = 64_000_000
"""What stands behind them in a file was not read by anything else either."""


class Lines:
    """Gives the lines of files, counted as Python counts them; of a notebook, those of its cells.

    ``contents`` are those of paths that are no files.
    """

    def __init__(self, contents: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._contents = dict(contents)
        self._notebooks: dict[str, list[dict[str, Any]]] = {}
        self._lines: dict[tuple[str, int | None], list[str]] = {}

    def mentions(self, file: str, words: bytes) -> bool:
        """Whether some words stand in a file. It is not kept: of thousands of files hardly one is looked at again."""
        content = self._contents.get(file)
        return words in (_content(file) if content is None else content)

    def text(self, file: str) -> str:
        """Return a file's text; empty when it cannot be read. Undecodable bytes are replaced."""
        if file not in self._contents:
            self._contents[file] = _content(file)
        return decode(self._contents[file])[0]

    def cells(self, file: str) -> list[int | None]:
        """Return the cells that hold code; ``[None]`` for a file that is no notebook."""
        if not is_notebook(file):
            return [None]
        return [number for number, cell in enumerate(self._notebook(file)) if cell.get("cell_type") == "code"]

    def of(self, file: str, cell: int | None = None) -> list[str]:
        """Return the lines of a file or of one cell, without their ends."""
        known = self._lines.get((file, cell))
        if known is None:
            text = self.text(file) if cell is None else self._cell(file, cell)
            known = self._lines[file, cell] = lines_of(text)
        return known

    def at(self, place: Place) -> str:
        """Return the line that a place begins on; empty when there is none."""
        lines = self.of(place.file, place.cell)
        return lines[place.line - 1] if 0 < place.line <= len(lines) else ""

    def span(self, place: Place) -> Place:
        """Return the place with its columns and end: an observed one knows only its line, and gets the whole of it."""
        if place.column:
            return place if place.end_line else place._replace(end_line=place.line, end_column=place.column + 1)
        line = self.at(place).rstrip()
        column = len(line) - len(line.lstrip()) + 1
        return place._replace(column=column, end_line=place.line, end_column=max(len(line), column) + 1)

    def _cell(self, file: str, cell: int) -> str:
        cells = self._notebook(file)
        source = cells[cell].get("source", cells[cell].get("input", "")) if cell < len(cells) else ""
        return source if isinstance(source, str) else "".join(source)

    def _notebook(self, file: str) -> list[dict[str, Any]]:
        if file not in self._notebooks:
            self._notebooks[file] = _cells(self.text(file))
        return self._notebooks[file]


def _cells(text: str) -> list[dict[str, Any]]:
    import json

    try:
        book = json.loads(text)
        # until format 4 they lay in worksheets, and a cell of code had its text as input
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [cell if isinstance(cell, dict) else {} for cell in cells] if isinstance(cells, list) else []


def _content(file: str) -> bytes:
    try:
        return read_file(file, MOST_BYTES)
    except (OSError, ValueError):
        return b""

"""Where pieces of syntax stand: lines and columns as a reader counts them, in files and in notebooks' cells."""

import ast

from ddpdoctor.content import lines_of
from ddpdoctor.place import Place
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.source import Source


class Places:
    """Gives the places of nodes, each worked out once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[str, ast.AST], Place] = {}
        self._lines: dict[str, list[str]] = {}
        self._sources: dict[str, Source | None] = {}

    def of(self, node: ast.AST, file: str) -> Place:
        """Return where a node of a file stands."""
        place = self._known.get((file, node))
        if place is None:
            place = self._known[file, node] = self._work_out(node, file)
        return place

    def _work_out(self, node: ast.AST, file: str) -> Place:
        line = getattr(node, "lineno", 1)
        end_line = getattr(node, "end_lineno", None) or line
        start = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", None) or start
        column, end_column = self._column(file, line, start), self._column(file, end_line, end)
        source = self._sources[file]
        if source is None or source.cells is None or source.notebook is None:
            return Place(file, line, column, end_line, end_column)
        cell, first = source.cells[line - 1]
        _, last = source.cells[min(end_line, len(source.cells)) - 1]
        return Place(source.notebook, first, column, last, end_column, cell)

    def _column(self, file: str, line: int, offset: int) -> int:
        """Return the column, from 1 and in characters, of an offset in UTF-8 bytes."""
        if file not in self._lines:
            source = self._sources[file] = self._project.source_of(file)
            self._lines[file] = [] if source is None or source.text.isascii() else lines_of(source.text)
        lines = self._lines[file]
        if line > len(lines):
            return offset + 1
        return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1


def header(place: Place, iterated: Place | None) -> Place:
    """Return the place of a loop's first part, without its body; ``iterated`` is what a ``for`` goes over."""
    if iterated is None:
        return place._replace(end_line=place.line, end_column=0)
    return place._replace(end_line=iterated.end_line, end_column=iterated.end_column)

"""Where in the user's files something stands."""

from ddpdoctor.named import NamedTuple


class Place(NamedTuple):
    """A span of a source file: absolute path, lines and columns from 1, the end column after the last character.

    ``cell`` is the index of a notebook's cell, from 0, and ``line`` then counts inside that cell. An observed
    place knows only its line: its columns are 0.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    cell: int | None = None

    def covers(self, observed: "Place") -> bool:
        """Whether an observed line lies inside this span: a call that fills several lines runs on any of them."""
        last = max(self.end_line, self.line)
        return self.file == observed.file and self.cell == observed.cell and self.line <= observed.line <= last

    def spot(self) -> tuple[str, int, int]:
        """Return what identifies the line: file, cell (-1 for none) and line."""
        return self.file, -1 if self.cell is None else self.cell, self.line

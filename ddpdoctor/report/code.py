"""Lines of the user's code with a marker under what a finding is about."""

from collections.abc import Iterator

from ddpdoctor.record import Record
from ddpdoctor.report.shown import Shown, Spot
from ddpdoctor.report.words import CYAN, DIM, Style, columns, indent_of, printable

TAB = 4
INDENT = 4
MAX_NOTES = 6
"""So many further places are shown; the JSON report has them all."""
CUT = "..."
MOST_COLUMNS = 200
"""A line of code is cut to so many where there is no terminal: one of generated code can have thousands."""
FEWEST_COLUMNS = 20
"""A line of code gets at least so many columns, however narrow the terminal is."""


class Margin(Record):
    """What stands left of the code of one finding: line numbers, right-aligned, and a bar.

    ``width`` is that of the numbers, ``indent`` the columns of indentation that all lines have and that are left out.
    """

    style: Style
    width: int
    indent: int

    def line(self, number: int | None, code: str) -> str:
        """Return a line behind its number, or behind none."""
        left = "" if number is None else str(number)
        return f"{self.style.paint(f'{left:>{self.width}} |', DIM)} {code}".rstrip()

    def room(self) -> int | None:
        """Return how many columns there are for code (``None``: as many as it needs)."""
        return None if self.style.width is None else max(self.style.width - self.width - 3, FEWEST_COLUMNS)


def position(spot: Spot) -> str:
    """Return where a line is, for people and for editors that jump there."""
    cell = "" if spot.cell is None else f"cell {spot.cell}:"
    return f"{printable(spot.file)}:{cell}{spot.line}"


def code_of(shown: Shown, style: Style, colours: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of code of a finding and of its further places, each with its marker."""
    notes = shown.notes[:MAX_NOTES]
    spots = [shown.spot, *(note.spot for note in notes)]
    width = max(len(str(spot.line)) for spot in spots) + INDENT
    margin = Margin(style=style, width=width, indent=indent_of(spot.code.expandtabs(TAB) for spot in spots))
    yield from _marked(shown.spot, "^", "", margin, colours)
    file = (shown.spot.file, shown.spot.cell)
    for note in notes:
        if (note.spot.file, note.spot.cell) != file:
            file = (note.spot.file, note.spot.cell)
            yield style.paint(f"{'':>{width}} in {position(note.spot)}", DIM)
        yield from _marked(note.spot, "-", printable(note.text), margin, (CYAN,))
    if len(shown.notes) > MAX_NOTES:
        yield style.paint(f"{'':>{width}} and {len(shown.notes) - MAX_NOTES} more", DIM)


def _marked(spot: Spot, sign: str, label: str, margin: Margin, colours: tuple[str, ...]) -> Iterator[str]:
    """Yield a line of code and, under it, the marker with its label: beside it where there is room, else below."""
    paint = margin.style.paint
    if not spot.code.strip():
        if label:
            yield margin.line(spot.line, paint(label, *colours))
        return
    code, start, end = _excerpt(spot, margin)
    marker = " " * start + paint(sign * (end - start), *colours)
    yield margin.line(spot.line, code)
    room = margin.room()
    if not label or room is None or end + 1 + columns(label) <= room:
        yield margin.line(None, f"{marker} {paint(label, *colours)}" if label else marker)
        return
    yield margin.line(None, marker)
    indent = start if start + columns(label) <= room else 0
    for line in margin.style.with_(width=room).wrapped(label, indent):
        yield margin.line(None, " " * indent + paint(line, *colours))
        indent = 0


def _excerpt(spot: Spot, margin: Margin) -> tuple[str, int, int]:
    """Return a place's line of code as it is shown, and from which column to before which, from 0, it is marked.

    What all lines are indented by is left out, and the line is cut to the room there is.
    """
    last = len(spot.code.rstrip()) if spot.end_line > spot.line else spot.end_column - 1
    code = printable(spot.code.rstrip().expandtabs(TAB))[margin.indent :]
    start, end = (
        max(columns(printable(spot.code[:until].expandtabs(TAB))) - margin.indent, 0)
        for until in (spot.column - 1, last)
    )
    end = max(min(end, columns(code)), start + 1)
    room = margin.room() or MOST_COLUMNS
    if columns(code) <= room:
        return code, start, end
    if min(end, start + room // 2) > room - len(CUT):  # what is marked lies too far to the right
        dropped = start - room // 4
        code, start, end = CUT + code[dropped:], start - dropped + len(CUT), end - dropped + len(CUT)
    if columns(code) > room:
        code = code[: room - len(CUT)] + CUT
    return code, start, min(end, room)

"""Words on a terminal: wrapped, coloured, and nothing in them that a terminal would obey."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from ddpdoctor.record import Record

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
DEFAULT_WIDTH = 80
NARROWEST = 40
"""No text is wrapped to fewer columns."""


class Style(Record):
    """How text is written: coloured or not, and the width that it is wrapped to (``None``: it is not)."""

    colour: bool = False
    width: int | None = None

    def paint(self, text: str, *codes: str) -> str:
        """Return a text in a colour."""
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.colour and text else text

    def wrapped(self, text: str, first: int = 0, rest: int = 0) -> Iterator[str]:
        """Yield a text's lines, each filled with words up to the width.

        ``first`` is how many columns of the first line are taken already; the lines after it are indented by ``rest``.
        """
        if self.width is None:
            yield text
            return
        line, free = "", max(self.width - first, 1)
        for word in text.split(" "):
            longer = f"{line} {word}" if line else word
            if line and columns(longer) > free:
                yield line
                line, free = " " * rest + word, self.width
            else:
                line = longer
        yield line


def style_of(stream: TextIO | None, environment: Mapping[str, str]) -> Style:
    """Return the style for a stream: NO_COLOR (no-color.org), then FORCE_COLOR (force-color.org), then what it is."""
    terminal = stream if stream is not None and stream.isatty() else None
    if environment.get("NO_COLOR"):
        colour = False
    elif environment.get("FORCE_COLOR"):
        colour = stream is not None and environment["FORCE_COLOR"] != "0"
    else:
        understood = os.name != "nt" or "WT_SESSION" in environment or "ANSICON" in environment
        colour = terminal is not None and understood and environment.get("TERM") != "dumb"
    return Style(colour=colour, width=None if terminal is None else max(terminal_width(terminal), NARROWEST))


def terminal_width(stream: TextIO) -> int:
    """Return the columns of a terminal; ``shutil.get_terminal_size`` would do if it did not load archive formats."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    try:
        return columns if columns > 0 else os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def printable(text: str) -> str:
    """Return a text with escapes in the place of what a terminal would obey or could not show."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\t" else ascii(character)[1:-1] for character in text
    )


def columns(text: str) -> int:
    """Return how many columns a text fills."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(character) else 1 + (east_asian_width(character) in "WF") for character in text)


def indent_of(lines: Iterable[str]) -> int:
    """Return the spaces by which all lines that are not blank are indented; other blanks may be shown as escapes."""
    return min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)

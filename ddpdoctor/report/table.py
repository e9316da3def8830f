"""Tables whose last column holds prose."""

from collections.abc import Sequence

from ddpdoctor.report.words import Style

NARROWEST = 30
"""The columns that the last column has at least, whatever the terminal's width."""

HEADER_PADDING = COLUMN_GAP = 2  # what tabulate adds to a header's width, and puts between columns


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> str:
    """Return a table, the lines of its last column wrapped to what the other columns leave of the width."""
    from tabulate import tabulate  # it takes three times as long to import as all the rest

    widest = [
        max(len(header) + HEADER_PADDING, *map(len, cells))
        for header, *cells in list(zip(headers, *rows, strict=True))[:-1]
    ]
    taken = sum(widest) + COLUMN_GAP * len(widest)
    room = style if style.width is None else style.with_(width=max(style.width - taken, NARROWEST))
    wrapped = [
        [*row[:-1], "\n".join(line for text in row[-1].split("\n") for line in room.wrapped(text, rest=2))]
        for row in rows
    ]
    return tabulate(wrapped, headers, tablefmt="simple", disable_numparse=True) + "\n"

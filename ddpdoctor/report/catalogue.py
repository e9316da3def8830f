"""The table of all checks."""

from collections.abc import Iterable

from ddpdoctor.check import Row
from ddpdoctor.report.words import NARROWEST, Style

HEADERS = ("check", "severity", "layers", "what it finds")


def table(rows: Iterable[Row], style: Style) -> str:
    """Return the checks in rows, what they find wrapped to the terminal's width."""
    from tabulate import tabulate  # it takes three times as long to import as all the rest

    cells = [[row.name, row.severity, ", ".join(row.layers), row.summary] for row in rows]
    taken = sum(max(map(len, column)) + 2 for column in list(zip(HEADERS, *cells, strict=True))[:-1])
    room = style if style.width is None else style._replace(width=max(style.width - taken, NARROWEST))
    for row in cells:
        row[-1] = "\n".join(room.wrapped(row[-1]))
    return tabulate(cells, HEADERS, tablefmt="simple", disable_numparse=True) + "\n"

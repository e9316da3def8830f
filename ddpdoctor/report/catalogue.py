"""The table of all checks."""

from collections.abc import Iterable

from ddpdoctor.check import Row
from ddpdoctor.report.table import table
from ddpdoctor.report.words import Style


def render(rows: Iterable[Row], style: Style) -> str:
    """Return the checks as a table."""
    cells = [(row.name, row.severity, ", ".join(row.layers), row.summary) for row in rows]
    return table(("check", "severity", "layers", "what it finds"), cells, style)

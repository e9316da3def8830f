"""The table of all checks."""

from collections.abc import Iterable

from ddpdoctor.check import Row
from ddpdoctor.report.table import table
from ddpdoctor.report.words import Style


def render(rows: Iterable[Row], style: Style) -> str:
    """Return the checks as a table."""
    cells = [(row.name, row.severity, ", ".join(row.layers), standing(row.preview), row.summary) for row in rows]
    return table(("check", "severity", "layers", "standing", "what it finds"), cells, style)


def standing(preview: bool) -> str:
    """Return in a word whether a check is asked by default and counts: ``stable`` or ``preview``."""
    return "preview" if preview else "stable"

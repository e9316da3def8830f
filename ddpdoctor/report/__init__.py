"""Turns a report into the text of one of its formats."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddpdoctor.checkup import Report, Request
    from ddpdoctor.report.words import Style

FORMATS = ("text", "json", "github")


def render(report: "Report", request: "Request", form: str, style: "Style", environment: Mapping[str, str]) -> str:
    """Return the whole report in a format, ending in a newline."""
    from ddpdoctor.lines import Lines
    from ddpdoctor.paths import Paths
    from ddpdoctor.report.shown import prepare

    lines = Lines(request.contents())
    roots = [checked.project.root for checked in report.projects]
    if form == "github":
        from ddpdoctor.report import github

        paths = Paths(github.root(request.directory, environment), roots)
        return github.render(report, prepare(report.findings, paths, lines), paths)
    paths = Paths(request.directory, roots)
    shown = prepare(report.findings, paths, lines)
    if form == "json":
        from ddpdoctor.report import json

        return json.render(report, shown, paths)
    from ddpdoctor.report import text

    return text.render(report, shown, paths, style, source_only=request.source_only)

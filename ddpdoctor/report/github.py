"""The report as workflow commands of GitHub Actions, which become annotations on the lines of a pull request.

The form and its escapes: https://docs.github.com/actions/reference/workflow-commands-for-github-actions and the
toolkit's ``command.ts``.
"""

import os
from collections.abc import Iterator, Mapping

from ddpdoctor.checkup import Report
from ddpdoctor.paths import Paths
from ddpdoctor.report.code import position
from ddpdoctor.report.layers import shortcomings
from ddpdoctor.report.shown import Shown
from ddpdoctor.report.summary import project_sentences, sentence

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def root(directory: str, environment: Mapping[str, str]) -> str:
    """Return the folder that paths are relative to: GitHub knows a file only by its path in the repository."""
    workspace = environment.get("GITHUB_WORKSPACE", "")
    return (
        workspace if workspace and f"{directory}{os.sep}".startswith(workspace.rstrip(os.sep) + os.sep) else directory
    )


def render(report: Report, findings: tuple[Shown, ...], paths: Paths) -> str:
    """Return one command a finding (a refuted one is only counted), then the summary and the layers left out."""
    return "".join(f"{line}\n" for line in _lines(report, findings, paths))


def _lines(report: Report, findings: tuple[Shown, ...], paths: Paths) -> Iterator[str]:
    for shown in findings:
        if not shown.refuted:
            yield _command(shown)
    yield from project_sentences(report, paths)
    yield sentence(report)
    yield from shortcomings(report)


def _command(shown: Shown) -> str:
    spot = shown.spot
    properties = {"title": f"{shown.check} (preview)" if shown.preview else shown.check, "file": spot.file}
    # A notebook's lines are counted by cell here, by the JSON text there: an annotation would stand anywhere.
    if spot.cell is None:
        properties |= {"line": str(spot.line), "endLine": str(spot.end_line)}
        if spot.line == spot.end_line:  # columns are refused where the lines differ
            properties |= {"col": str(spot.column), "endColumn": str(spot.end_column)}
    where = "" if spot.cell is None else f"cell {spot.cell}, line {spot.line}: "
    message = [where + shown.message]
    message.extend(f"{position(note.spot)}: {note.text}" for note in shown.notes)
    if shown.outcome is not None:
        message.append(f"{shown.outcome.state.replace('-', ' ')}: {shown.outcome.reason}")
    if shown.fix is not None:
        message.append(f"fix: {shown.fix.description}")
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = _data("\n".join(message))
    command = "notice" if shown.preview else COMMANDS[shown.severity]
    return f"::{command} {listed}::{text}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

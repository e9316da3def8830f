"""The report as JSON: a stable form; ``schema`` rises with every change that can break a reader of it."""

import json
from collections.abc import Iterable
from typing import Any

from ddpdoctor.checkup import Checked, Report, Target
from ddpdoctor.layer import LAYERS, LayerState
from ddpdoctor.paths import Paths
from ddpdoctor.record import Record
from ddpdoctor.report.shown import Shown
from ddpdoctor.report.summary import totals, totals_of

SCHEMA = 1


def render(report: Report, findings: tuple[Shown, ...], paths: Paths) -> str:
    """Return the report as one JSON document, in ASCII; projects, targets and findings are a line each."""
    parts = {
        "schema": json.dumps(SCHEMA),
        "version": json.dumps(report.version),
        "projects": _lines(_project(checked, paths) for checked in report.projects),
        "targets": _lines(
            _target(target, paths.shown(checked.project.root))
            for checked in report.projects
            for target in checked.targets
        ),
        "findings": _lines(_finding(each) for each in findings),
        "summary": json.dumps(_fields(totals(report))),
    }
    return "{" + ",\n ".join(f"{json.dumps(name)}: {text}" for name, text in parts.items()) + "}\n"


def _fields(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.FIELDS}


def _lines(items: Iterable[dict[str, Any]]) -> str:
    return "[" + ",".join(f"\n  {json.dumps(item)}" for item in items) + "]"


def _project(checked: Checked, paths: Paths) -> dict[str, Any]:
    file = checked.project.configuration.file
    return {
        "path": paths.shown(checked.project.root),
        "configuration": file and paths.shown(file),
        "files": len(checked.targets),
        "summary": _fields(totals_of(checked)),
    }


def _target(target: Target, project: str) -> dict[str, Any]:
    return {
        "path": target.path,
        "project": project,
        "layers": {name: _layer(target.layers[name]) for name in LAYERS if name in target.layers},
    }


def _layer(state: LayerState) -> dict[str, Any]:
    data: dict[str, Any] = {"state": state.state}
    if state.reason is not None:
        data["reason"] = state.reason
    if state.details:
        data["details"] = list(state.details)
    return data


def _finding(shown: Shown) -> dict[str, Any]:
    spot = shown.spot
    return {
        "check": shown.check,
        "severity": shown.severity,
        "confidence": shown.confidence,
        "message": shown.message,
        "subject": shown.subject,
        "file": spot.file,
        "line": spot.line,
        "column": spot.column,
        "end_line": spot.end_line,
        "end_column": spot.end_column,
        "cell": spot.cell,
        "places": [
            {"file": note.spot.file, "line": note.spot.line, "cell": note.spot.cell, "label": note.text}
            for note in shown.notes
        ],
        "layer": shown.layer,
        "verdict": shown.outcome and _fields(shown.outcome),
        "fix": shown.fix and {"safe": shown.fix.safe, "description": shown.fix.description},
        "preview": shown.preview,
        "fingerprint": shown.fingerprint,
    }

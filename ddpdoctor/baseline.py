"""The baseline: a file that names the findings that are known, so that only new ones are shown and fail a gate.

A finding is known by its fingerprint, which outlives edits elsewhere in the file; the path in it is relative to the
baseline's folder, so that it does not matter where a check-up is started.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ddpdoctor import registry
from ddpdoctor.checkup import Checked, Report
from ddpdoctor.content import read_file
from ddpdoctor.finding import Fault, Finding, Fix, Severity
from ddpdoctor.gate import is_shown
from ddpdoctor.ignores import UNUSED, could_be_found_in
from ddpdoctor.layer import SOURCE
from ddpdoctor.lines import Lines
from ddpdoctor.merging import identity
from ddpdoctor.named import NamedTuple
from ddpdoctor.paths import Paths
from ddpdoctor.place import Place
from ddpdoctor.projects import lies_in
from ddpdoctor.report.shown import Shown, identified
from ddpdoctor.status import MisuseError

SCHEMA = 1
MOST_BYTES = 64_000_000


class Entry(NamedTuple):
    """A known finding. Its line and message are for people: only the first three fields tell it from others."""

    fingerprint: str
    check: str
    file: str  # relative to the baseline's folder, with /
    line: int
    message: str


class Baseline(NamedTuple):
    """A baseline's file (absolute) and its entries, each with the line that it stands on."""

    file: str
    entries: tuple[tuple[int, Entry], ...] = ()

    @property
    def folder(self) -> str:
        """The folder that its paths are relative to."""
        return os.path.dirname(self.file)


def load(file: str) -> Baseline:
    """Read a baseline.

    Raises MisuseError when there is none, or when the file is something else.
    """
    shown = os.path.relpath(file)
    try:
        text = read_file(file, MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise MisuseError(f"--baseline: there is no file '{shown}'; --write-baseline writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"--baseline: '{shown}' cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        document = json.loads(text)
        schema = document["schema"]
        found = [Entry(**entry) for entry in document["findings"]] if schema == SCHEMA else []
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MisuseError(f"--baseline: '{shown}' is no baseline of ddpdoctor") from None
    if schema != SCHEMA:
        raise MisuseError(f"--baseline: '{shown}' is of another version of ddpdoctor (schema {schema}, not {SCHEMA})")
    lines = _lines_of(found, text)
    return Baseline(file, tuple((lines.get(entry.fingerprint, 1), entry) for entry in found))


def _lines_of(entries: Iterable[Entry], text: str) -> dict[str, int]:
    wanted = {entry.fingerprint for entry in entries}
    return {
        fingerprint: number
        for number, line in enumerate(text.splitlines(), 1)
        for fingerprint in wanted.intersection(line.split('"'))
    }


def apply(baseline: Baseline, report: Report, lines: Lines) -> Report:
    """Return the report without the findings that a baseline names, and with a note for each entry that names none."""
    named = {(entry.fingerprint, entry.check, entry.file): number for number, entry in baseline.entries}
    met: dict[object, tuple[str, str, str]] = {}
    for finding, shown in identified(report.findings, Paths(baseline.folder), lines):
        key = (shown.fingerprint, shown.check, shown.spot.file)
        if key in named:
            met[identity(finding)] = key
    idle = [(number, entry) for number, entry in baseline.entries if entry[:3] not in set(met.values())]
    notes = [
        Finding(check=UNUSED, severity=Severity.NOTE, layer=SOURCE, fault=_idle(baseline, number, entry))
        for number, entry in idle
        if _is_judged(entry, baseline, report.projects)
    ]
    projects = [_without(checked, met) for checked in report.projects]
    home = next((n for n, checked in enumerate(projects) if lies_in(baseline.folder, checked.project.root)), 0)
    if projects[home].project.configuration.wants(UNUSED):
        projects[home] = projects[home].with_(findings=(*projects[home].findings, *notes))
    return report.with_(projects=tuple(projects))


def _without(checked: Checked, met: Iterable[object]) -> Checked:
    kept = tuple(finding for finding in checked.findings if identity(finding) not in met)
    known = [finding for finding in checked.findings if identity(finding) in met]
    counted = sum(is_shown(finding, checked.project.configuration) and not finding.refuted for finding in known)
    return checked.with_(findings=kept, known=counted)


def _is_judged(entry: Entry, baseline: Baseline, projects: Sequence[Checked]) -> bool:
    """Whether it is known that what an entry names is not there: all that could find it looked, or nothing is left."""
    file = os.path.normpath(os.path.join(baseline.folder, entry.file))
    if entry.check not in registry.names() or not os.path.exists(file):
        return True
    for checked in projects:
        if file in checked.whole:
            wanted = checked.project.configuration.wants(entry.check)
            return wanted and could_be_found_in(entry.check, checked.whole[file])
    return False


def _idle(baseline: Baseline, number: int, entry: Entry) -> Fault:
    return Fault(
        place=Place(baseline.file, number, end_line=number),
        message=f"'{entry.check}' is no longer found where this entry knows it ({entry.file}): it has no effect",
        fix=Fix(description="take the entry out, or write the baseline anew with --write-baseline", safe=True),
    )


def text_of(baseline: Baseline, report: Report, lines: Lines) -> str:
    """Return the text of a baseline that names what is found now, and what it named where nothing was looked for."""
    configurations = {
        identity(finding): checked.project.configuration for checked in report.projects for finding in checked.findings
    }
    found = [
        _entry(shown)
        for finding, shown in identified(report.findings, Paths(baseline.folder), lines)
        if is_shown(finding, configurations[identity(finding)]) and not finding.refuted
    ]
    known = {entry[:3] for entry in found}
    kept = [
        entry
        for _, entry in baseline.entries
        if entry[:3] not in known and not _is_judged(entry, baseline, report.projects)
    ]
    entries = sorted([*found, *kept], key=lambda entry: (entry.file, entry.line, entry.check, entry.fingerprint))
    return f'{{"schema": {SCHEMA},\n "findings": [{",".join(_lines(entries))}]}}\n'


def _entry(shown: Shown) -> Entry:
    return Entry(shown.fingerprint, shown.check, shown.spot.file, shown.spot.line, shown.message)


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        fields: dict[str, Any] = entry._asdict()
        yield f"\n  {json.dumps(fields)}"

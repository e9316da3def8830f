"""Findings made ready to be shown: paths relative to the working directory, whole spans, plain evidence, in order."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from ddpdoctor.finding import Finding, Fix
from ddpdoctor.lines import Lines
from ddpdoctor.paths import Paths
from ddpdoctor.place import Place
from ddpdoctor.record import Record


class Spot(Record):
    """A place as it is shown: its file as written in the report, its span, and the line of code it begins on."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None
    code: str


class Note(Record):
    """A further place, and what stands there."""

    spot: Spot
    text: str


class Outcome(Record):
    """A verdict; its evidence is plain data, as JSON has it."""

    state: str
    reason: str
    evidence: dict[str, Any]


class Shown(Record):
    """A finding as every format shows it."""

    check: str
    severity: str
    confidence: str
    message: str
    subject: str | None
    spot: Spot
    notes: tuple[Note, ...]
    layer: str
    outcome: Outcome | None
    fix: Fix | None
    preview: bool
    fingerprint: str

    @property
    def refuted(self) -> bool:
        """Whether the run showed the opposite."""
        return self.outcome is not None and self.outcome.state == "refuted"


def prepare(findings: Iterable[Finding], paths: Paths, lines: Lines) -> tuple[Shown, ...]:
    """Return the findings by file and place, each ready to be shown."""
    return tuple(shown for _, shown in identified(findings, paths, lines))


def identified(findings: Iterable[Finding], paths: Paths, lines: Lines) -> Iterator[tuple[Finding, Shown]]:
    """Yield the findings by file and place, each as it is shown, with its fingerprint."""
    ordered = sorted(((finding, _shown(finding, paths, lines)) for finding in findings), key=_position)
    occurrences: dict[tuple[str, ...], int] = {}
    for finding, each in ordered:
        identity = (each.check, each.spot.file, each.subject or "", each.spot.code.strip())
        occurrences[identity] = number = occurrences.get(identity, 0) + 1
        yield finding, each.with_(fingerprint=fingerprint(*identity, str(number)))


def fingerprint(*identity: str) -> str:
    """Return 16 hexadecimal digits that identify a finding by what does not change when lines above it do.

    Two checksums stand in for a hash: hashlib takes longer to import than a script to read.
    """
    data = "\0".join(identity).encode("utf-8", "surrogatepass")
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"


def _position(found: tuple[Finding, Shown]) -> tuple[object, ...]:
    shown = found[1]
    spot = shown.spot
    cell = -1 if spot.cell is None else spot.cell
    return spot.file, cell, spot.line, spot.column, shown.check, shown.subject or "", shown.message


def _shown(finding: Finding, paths: Paths, lines: Lines) -> Shown:
    fault = finding.fault
    verdict = finding.verdict
    return Shown(
        check=finding.check,
        severity=finding.severity.value,
        confidence=fault.confidence.value,
        message=paths.text(fault.message),
        subject=fault.subject,
        spot=_spot(fault.place, paths, lines),
        notes=tuple(Note(spot=_spot(label.place, paths, lines), text=paths.text(label.text)) for label in fault.places),
        layer=finding.layer,
        outcome=None
        if verdict is None
        else Outcome(
            state=verdict.state.value, reason=paths.text(verdict.reason), evidence=paths.plain(verdict.evidence)
        ),
        fix=fault.fix and fault.fix.with_(description=paths.text(fault.fix.description)),
        preview=finding.preview,
        fingerprint="",
    )


def _spot(place: Place, paths: Paths, lines: Lines) -> Spot:
    whole = lines.span(place)
    return Spot(
        file=paths.shown(place.file),
        line=whole.line,
        column=whole.column,
        end_line=whole.end_line,
        end_column=whole.end_column,
        cell=whole.cell,
        code=lines.at(place),
    )

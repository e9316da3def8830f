"""Findings made ready to be shown: paths relative to the working directory, whole spans, plain evidence, in order."""

import enum
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from math import isfinite
from typing import Any

from ddpdoctor.finding import Finding, Fix
from ddpdoctor.lines import Lines
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
    fingerprint: str

    @property
    def refuted(self) -> bool:
        """Whether the run showed the opposite."""
        return self.outcome is not None and self.outcome.state == "refuted"


class Paths:
    """Writes paths, and texts that have paths in them, as seen from the working directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._inside = directory.rstrip(os.sep) + os.sep

    def shown(self, path: str) -> str:
        """Return a path relative to the working directory, with ``/``."""
        if not os.path.isabs(path):
            return path.replace(os.sep, "/")
        try:
            return os.path.relpath(path, self._directory).replace(os.sep, "/")
        except ValueError:  # another drive
            return path.replace(os.sep, "/")

    def text(self, text: str) -> str:
        """Return a text on one line, with the paths of files inside the working directory made relative."""
        return " ".join(text.split()).replace(self._inside, "") if len(self._inside) > 1 else " ".join(text.split())

    def plain(self, value: object) -> Any:
        """Return evidence as JSON can write it; a place is ``file:line``."""
        if isinstance(value, Place):
            return f"{self.shown(value.file)}:{value.line}"
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, float) and not isfinite(value):  # JSON has no such numbers
            return str(value)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return value.replace(self._inside, "") if len(self._inside) > 1 else value
        if isinstance(value, Mapping):
            return {str(self.plain(key)): self.plain(item) for key, item in value.items()}
        if isinstance(value, Set):
            return sorted((self.plain(item) for item in value), key=lambda item: (isinstance(item, str), item))
        if isinstance(value, Sequence):
            return [self.plain(item) for item in value]
        return str(value)


def prepare(findings: Iterable[Finding], paths: Paths, lines: Lines) -> tuple[Shown, ...]:
    """Return the findings by file and place, each ready to be shown."""
    shown = sorted((_shown(finding, paths, lines) for finding in findings), key=_position)
    occurrences: dict[tuple[str, ...], int] = {}
    numbered = []
    for each in shown:
        identity = (each.check, each.spot.file, each.subject or "", each.spot.code.strip())
        occurrences[identity] = number = occurrences.get(identity, 0) + 1
        numbered.append(each.with_(fingerprint=fingerprint(*identity, str(number))))
    return tuple(numbered)


def fingerprint(*identity: str) -> str:
    """Return 16 hexadecimal digits that identify a finding by what does not change when lines above it do.

    Two checksums stand in for a hash: hashlib takes longer to import than a script to read.
    """
    data = "\0".join(identity).encode("utf-8", "surrogatepass")
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"


def _position(shown: Shown) -> tuple[object, ...]:
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

"""Every program in the checks' folders: what is marked is found, and nothing else of weight."""

import re
from pathlib import Path

import pytest
from reading import request_for

from ddpdoctor import engine, registry
from ddpdoctor.checkup import Voice
from ddpdoctor.finding import Finding, Severity

FOLDER = Path(registry.folder())
MARK = re.compile(r"# <- ([a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*)( \(run\))?\s*$")
ALSO = re.compile(r"^# also: (.+)$", re.M)
BAD = sorted(path for path in FOLDER.glob("*/bad*") if path.suffix in (".py", ".txt"))
GOOD = sorted(FOLDER.glob("*/good*.py"))
SOURCE_LAYER = {row.name for row in registry.rows() if "source" in row.layers}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def marked(path: Path, *, by_run: bool = True) -> set[tuple[int, str]]:
    """The lines that a program marks, with the checks that are to find them; without those that only a run shows."""
    found = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = MARK.search(line)
        if match and (by_run or not match.group(2)):
            found |= {(number, check) for check in match.group(1).split(", ")}
    return found


def allowed(path: Path) -> set[str]:
    """Notes that a program's header allows."""
    match = ALSO.search(path.read_text(encoding="utf-8"))
    return set(match.group(1).replace(",", " ").split()) if match else set()


def findings_in(path: Path, source_name: Path | None = None) -> tuple[Finding, ...]:
    report = engine.check(request_for(source_name or path).with_(directory=str(path.parent)), Voice())
    assert report.faults == ()
    return report.findings


def lines_of(finding: Finding) -> range:
    place = finding.fault.place
    return range(place.line, max(place.line, place.end_line) + 1)


def test_there_are_programs_for_every_check():
    assert BAD and GOOD
    folders = {path.parent.name for path in BAD}
    assert folders == {row.name.replace("-", "_") for row in registry.rows()}


@pytest.mark.parametrize("path", BAD, ids=name_of)
def test_what_a_bad_program_marks_is_found_and_nothing_else(path, tmp_path):
    expected = {(line, check) for line, check in marked(path, by_run=False) if check in SOURCE_LAYER}
    program = path
    if path.suffix == ".txt":  # it does not parse: kept under a name that no tool reads as Python
        program = tmp_path / f"{path.stem}.py"
        program.write_bytes(path.read_bytes())
    found = findings_in(program)
    missed = {
        (line, check)
        for line, check in expected
        if not any(finding.check == check and line in lines_of(finding) for finding in found)
    }
    assert not missed
    unexpected = [
        f"{finding.fault.place.line}: {finding.check}: {finding.fault.message}"
        for finding in found
        if not any((line, finding.check) in marked(path) for line in lines_of(finding))
        and finding.check not in allowed(path)
    ]
    assert not unexpected


@pytest.mark.parametrize("path", GOOD, ids=name_of)
def test_a_good_program_is_silent(path):
    loud = [
        f"{finding.fault.place.line}: {finding.check}: {finding.fault.message}"
        for finding in findings_in(path)
        if finding.check not in allowed(path) or finding.severity is not Severity.NOTE
    ]
    assert not loud

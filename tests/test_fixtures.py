"""The fixtures: what is right is silent, what is marked is found, and a run confirms what it can show."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from reading import request_for

from ddpdoctor import engine, registry
from ddpdoctor.checkup import Voice

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
MARK = re.compile(r"# <- ([a-z][a-z0-9-]*)$")
RIGHT = [
    FIXTURES / "tutorial/train.py",
    FIXTURES / "torchrun/train.py",
    FIXTURES / "trainer/train.py",
    FIXTURES / "lightning/train.py",
    FIXTURES / "planted/right.py",
]
FAULTY = sorted((FIXTURES / "tutorial_faulty").glob("*.py"))
PASTED = sorted((FIXTURES / "pasted").glob("*.py"))
ROWS = {row.name: row for row in registry.rows()}
BY_RUN = {"hang", "rank-failure", "silent-gradient-copy", "non-contiguous-parameter"}
"""What the source does not show."""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def marks(path: Path) -> list[tuple[int, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(number, match.group(1)) for number, line in enumerate(lines, 1) if (match := MARK.search(line.rstrip()))]


def read_only(path: Path) -> list[tuple[int, str]]:
    report = engine.check(request_for(path), Voice())
    assert report.faults == ()
    return [(finding.fault.place.line, finding.check) for finding in report.findings]


def probed(path: Path) -> tuple[int, dict]:
    command = [sys.executable, "-m", "ddpdoctor", "check", str(path), "--probe", "--format", "json", "--timeout", "300"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=400, check=False)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("path", RIGHT, ids=name_of)
def test_a_right_program_is_silent(path):
    assert read_only(path) == []


def test_there_is_a_faulty_variant_for_every_check():
    assert {path.stem.replace("_", "-") for path in FAULTY} == set(ROWS)


@pytest.mark.parametrize("path", FAULTY, ids=name_of)
def test_the_source_shows_the_fault_of_a_variant(path):
    expected = [(line, check) for line, check in marks(path) if check not in BY_RUN]
    assert read_only(path) == expected


def test_ten_planted_faults_of_ten_kinds_are_found():
    planted = marks(FIXTURES / "planted/train.py")
    assert len(planted) == len({check for _, check in planted}) == 10
    assert sorted(read_only(FIXTURES / "planted/train.py")) == planted


@pytest.mark.parametrize("path", PASTED, ids=name_of)
def test_the_damage_of_a_web_page_is_named(path):
    (found,) = engine.check(request_for(path), Voice()).findings
    assert found.check == "syntax-error"
    assert re.search(r"\((.+)\)$", found.fault.message), "the likely cause is not named"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.parent.name == "tutorial" else pytest.mark.slow)
        for path in RIGHT
        if path.parent.name != "lightning"
    ],
    ids=name_of,
)
def test_a_right_program_stays_silent_when_it_is_probed(path):
    pytest.importorskip("torch")
    status, report = probed(path)
    assert status == 0
    assert [finding for finding in report["findings"] if finding["severity"] != "note"] == []
    assert {name: layer["state"] for name, layer in report["targets"][0]["layers"].items()} == dict.fromkeys(
        ("source", "model", "probe"), "checked"
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", FAULTY, ids=name_of)
def test_a_variants_fault_is_confirmed_where_a_run_can_show_it(path):
    status, report = probed(path)
    (line, check), *_ = marks(path)
    found = [finding for finding in report["findings"] if finding["check"] == check]
    assert [(finding["line"], finding["check"]) for finding in found] == [(line, check)]
    assert status == (0 if found[0]["severity"] == "note" else 1)
    if {"model", "probe"} & set(ROWS[check].layers):
        assert found[0]["verdict"]["state"] == "confirmed"
        assert found[0]["verdict"]["evidence"]
    others = [finding for finding in report["findings"] if finding["check"] != check]
    assert others == []

"""Runs a test's script through the harness with the stand-in child."""

import os
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.harness import observation, ordering, torch_version
from ddpdoctor.harness.plan import Observation, Plan

STAND_IN = Path(__file__).resolve().parent / "stand_in_child.py"
START = (
    f"import sys; sys.path.append(sys.argv[2]); import runpy; runpy.run_path({str(STAND_IN)!r}, run_name='__main__')"
)
BOTH = frozenset({"model", "probe"})


class Harness:
    """One project folder, and runs of scripts in it."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder = folder
        self.temporary = temporary
        self.said: list[str] = []
        self.last: Observation | None = None

    def plan(self, script: str, files: Mapping[str, str] | None = None, **fields: Any) -> Plan:
        for name, text in (files or {}).items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        path = self.folder / "train.py"
        path.write_text(textwrap.dedent(script))
        given = {"style": "torchrun", "layers": BOTH, "timeout": 30.0, "directory": str(self.folder), **fields}
        return Plan(script=str(path), **given)

    def run(self, script: str, **fields: Any) -> Observation:
        return self.observe(self.plan(script, **fields))

    def observe(self, plan: Plan) -> Observation:
        self.last = observation.observe(plan, self.said.append)
        self.assert_nothing_left()
        return self.last

    def assert_nothing_left(self) -> None:
        assert list(self.temporary.glob("ddpdoctor-*")) == []


def wait_until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait for a condition with a deadline, and return what it returned."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {condition}")


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """A harness whose children are stand-ins, with a temporary folder and a home of its own."""
    temporary, home, project = (tmp_path / name for name in ("temporary", "home", "project"))
    for folder in (temporary, home, project):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(ordering, "START", START)
    monkeypatch.setattr(torch_version, "missing", lambda: None)
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    yield Harness(project, temporary)
    if os.path.isdir("/dev/shm"):
        assert set(os.listdir("/dev/shm")) <= before

"""Runs a test's script through the harness with the stand-in child."""

import errno
import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.events import Raised
from ddpdoctor.harness import observation, ordering, reasons, torch_version
from ddpdoctor.harness.contain import seccomp
from ddpdoctor.harness.plan import Observation, Plan
from ddpdoctor.harness.run_folder import plan_of

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


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """A harness whose children are stand-ins, with a temporary folder and a home of its own."""
    temporary, home, project = (tmp_path / name for name in ("temporary", "home", "project"))
    for folder in (temporary, home, project):
        folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr(ordering, "START", START)
    monkeypatch.setattr(torch_version, "missing", lambda: None)
    return Harness(project, temporary)


def main() -> None:
    """Run a plan in a process of its own, for tests that end it or hold it back: ``harness_run.py PLAN [CALL…]``.

    The system calls with the given numbers are refused to it, as the seccomp filter of a container does.
    """
    ordering.START = START
    torch_version.missing = lambda: None  # type: ignore[assignment]
    if sys.argv[2:]:
        seccomp.answer(dict.fromkeys(map(int, sys.argv[2:]), errno.EPERM))
    print("begins", flush=True)
    plan = plan_of(json.loads(sys.argv[1]))
    reason = observation.available(plan) if sys.argv[2:] else None
    seen = observation.observe(plan, lambda words: print(words, flush=True))
    states = {layer: (state.state, state.reason, state.details) for layer, state in seen.layers.items()}
    raised = [reasons.exception(event) for event in seen.trace.of(Raised)] if seen.trace else []
    print(json.dumps({"available": reason, "layers": states, "raised": raised}))


if __name__ == "__main__":
    main()

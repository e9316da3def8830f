"""What several test files need: the command line run in this process or in one of its own, and stored outputs."""

import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ddpdoctor
from ddpdoctor import registry
from ddpdoctor.check import Row
from ddpdoctor.checkup import Checked, Configuration, OwnFault, Report, Request, Target, Voice
from ddpdoctor.layer import CHECKED, LAYERS, LayerState
from ddpdoctor.plain import main

ROOT = Path(__file__).resolve().parent.parent
STORED = Path(__file__).resolve().parent / "stored"
OURS = (
    "COLUMNS",
    "DDPDOCTOR_SOURCE_ONLY",
    "DDPDOCTOR_TRACEBACK",
    "FORCE_COLOR",
    "GITHUB_WORKSPACE",
    "NO_COLOR",
    "PRE_COMMIT",
    "PYTHONIOENCODING",
)
"""Variables by which the surroundings of the tests could change what the tests see."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="store the outputs as they are now; read the diff")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def interrupts_heeded() -> Iterator[None]:
    """Heed SIGINT, here and in what the tests start: a job in the background of a shell script ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Ran(NamedTuple):
    """What a command said, and its exit status."""

    status: int
    out: str
    err: str


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the command line in this process."""

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Ran(int(status), *capsys.readouterr())

    return run


@pytest.fixture
def command() -> Callable[..., Ran]:
    """Run the command line in a process of its own."""

    def run(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None, **more: Any) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "ddpdoctor", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
            **more,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def stored(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare an output with the stored one; `make accept` stores it."""

    def compare(name: str, text: str) -> None:
        file = STORED / name
        if request.config.getoption("--accept"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert text == file.read_text(encoding="utf-8"), f"{name} has changed: `make accept` stores it as it is now"

    return compare


class FakeEngine:
    """Stands in for the engine: remembers what it was asked and answers what a test sets."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.findings: tuple[Any, ...] = ()
        self.faults: tuple[OwnFault, ...] = ()
        self.layers: dict[str, LayerState] = dict.fromkeys(LAYERS, CHECKED)
        self.works: Callable[[Voice], None] = lambda voice: None

    @property
    def request(self) -> Request:
        return self.requests[-1]

    @property
    def configuration(self) -> Configuration:
        """That of the only project."""
        (project,) = self.request.projects
        return project.configuration

    def check(self, request: Request, voice: Voice) -> Report:
        self.requests.append(request)
        self.works(voice)
        projects = tuple(
            Checked(
                project=project,
                targets=tuple(
                    Target(path=os.path.relpath(path, request.directory), layers=self.layers) for path in project.paths
                ),
                findings=self.findings,
                whole=dict.fromkeys(project.paths, LAYERS),
            )
            for project in request.projects
        )
        return Report(version="1.2.3", projects=projects, faults=self.faults)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    module = types.ModuleType("ddpdoctor.engine")
    module.check = fake.check  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ddpdoctor.engine", module)
    monkeypatch.setattr(ddpdoctor, "engine", module, raising=False)
    return fake


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that is the working directory, in which a configuration of an outer folder cannot be seen."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> tuple[Row, ...]:
    """A catalogue of three checks in the place of the real one."""
    three = (
        Row("hang", "a rank waits for ever", "error", ("probe",), ("Blocked",), False),
        Row(
            "missing-set-epoch", "every epoch has the same order", "error", ("source", "probe"), ("EpochBegun",), False
        ),
        Row("shuffle-with-sampler", "a loader gets both", "error", ("source", "probe"), ("LoaderBuilt",), False),
    )
    monkeypatch.setattr(registry, "rows", lambda: three)
    return three

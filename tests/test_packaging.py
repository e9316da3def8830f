"""The wheel: it holds what git holds and works where it is installed."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
import tabulate

from ddpdoctor import registry

ROOT = Path(__file__).resolve().parent.parent
LARGEST_FILE = 200_000
"""Bytes; the largest file of code has a tenth of it."""
LARGER = {"tests/corpus/labels.jsonl": 1_000_000}
"""The labels have a line for each script, with what was found in it and where."""
SCRIPT = """\
from torch.utils.data import DataLoader, DistributedSampler
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler, shuffle=True)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def in_git() -> set[str]:
    """Return the files that git holds or would hold, of what belongs into a wheel."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "ddpdoctor", "checks"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"this is no git checkout: {done.stderr.strip()}")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_holds_exactly_what_git_holds(wheel):
    expected = {f"ddpdoctor/{name}" if name.startswith("checks/") else name for name in in_git()}
    assert any(name.startswith("ddpdoctor/checks/") for name in expected)
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_wheel_works_where_it_is_installed(wheel, tmp_path):
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "train.py").write_text(SCRIPT)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel],
        check=True,
        capture_output=True,
    )
    dependencies = {str(Path(module.__file__).resolve().parent.parent) for module in (click, tabulate)}

    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "COLUMNS")
        }
        # -S: of this environment's packages only what is named here can be imported, and that after the wheel's own
        environment["PYTHONPATH"] = os.pathsep.join([str(site), *dependencies])
        return subprocess.run(
            [sys.executable, "-S", "-m", "ddpdoctor", *arguments],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    listed = command("list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines()[2:]] == sorted(registry.names())
    explained = command("explain", "shuffle-with-sampler")
    assert explained.stdout.startswith("# shuffle-with-sampler\n")
    checked = command("check", "--source-only", "train.py")
    assert (checked.returncode, checked.stderr) == (1, "")
    assert "train.py:3:10  error  shuffle-with-sampler  " in checked.stdout
    assert (site / "ddpdoctor" / "checks" / "shuffle_with_sampler" / "__init__.py").is_file()


def test_git_holds_text_of_ordinary_size_only():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"this is no git checkout: {done.stderr.strip()}")
    names = [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert names
    large = [name for name in names if (ROOT / name).stat().st_size > LARGER.get(name, LARGEST_FILE)]
    assert not large, "what a program left behind?"
    assert not [name for name in names if b"\0" in (ROOT / name).read_bytes() and not name.startswith("checks/syntax")]


# --- the registry ---------------------------------------------------------------------------------------------------


def test_the_registry_is_loud_when_there_are_no_checks(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "folder", lambda: str(tmp_path))
    with pytest.raises(registry.RegistryError, match="no checks were found in"):
        list(registry.discover())
    monkeypatch.setattr(registry, "INDEX", ())
    with pytest.raises(registry.RegistryError, match="no checks were found in"):
        registry.rows()


def test_the_registry_is_loud_when_two_checks_share_a_name(monkeypatch, tmp_path):
    for name in ("hang", "Hang"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(registry, "folder", lambda: str(tmp_path))
    monkeypatch.setattr(registry, "load", lambda name: name)
    with pytest.raises(registry.RegistryError, match="two checks are called 'hang'"):
        list(registry.discover())


def test_a_command_without_its_checks_is_an_internal_fault(monkeypatch, tmp_path, ran):
    monkeypatch.setattr(registry, "folder", lambda: str(tmp_path / "nowhere"))
    result = ran("list")
    assert (result.status, result.out) == (3, "")
    assert "ddpdoctor: internal fault: RegistryError: no checks were found in" in result.err

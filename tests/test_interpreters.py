"""The source layer under every supported Python that is on the machine, with nothing but what it depends on."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ddpdoctor
from ddpdoctor import registry

SUPPORTED = [(3, minor) for minor in range(10, 15)]
SCRIPT = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, sampler=sampler, shuffle=True)
dist.destroy_process_group()
"""


def interpreters() -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the supported interpreters on the machine, this one first, one a version."""
    yield sys.version_info[:2], sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for version in SUPPORTED:
        name = f"python{version[0]}.{version[1]}"
        places = [*sorted(pyenv.glob(f"versions/{version[0]}.{version[1]}*/bin/{name}")), shutil.which(name)]
        working = next((str(place) for place in places if place and works(str(place), version)), None)
        if working is not None and version != sys.version_info[:2]:
            yield version, working


def works(interpreter: str, version: tuple[int, int]) -> bool:
    """Whether an interpreter starts and is of a version: what is on the path may be a mere signpost to another."""
    lines = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([interpreter, "-c", lines], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.split() == [str(number) for number in version]


FOUND = dict(interpreters())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this project and what it depends on, without compiled files."""
    folder = tmp_path_factory.mktemp("site")
    package = Path(ddpdoctor.__file__).resolve().parent
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(package, folder / "ddpdoctor", ignore=ignored)
    if not (package / "checks").is_dir():
        shutil.copytree(registry.folder(), folder / "checks", ignore=ignored)
    for name in ("click", "tabulate", "yaml", "tomli"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            assert name == "tomli", f"{name} is not installed"
            continue
        origin = Path(spec.origin)
        if origin.name == "__init__.py":
            shutil.copytree(origin.parent, folder / name, ignore=ignored)
        else:
            shutil.copy(origin, folder)
    return folder


def run(interpreter: str, site: Path, cwd: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # -S: what else that interpreter has installed cannot be imported
    return subprocess.run(
        [interpreter, "-S", "-W", "error", "-m", "ddpdoctor", *arguments],
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_this_interpreter_is_supported():
    assert sys.version_info[:2] in SUPPORTED
    assert FOUND[sys.version_info[:2]] == sys.executable


@pytest.mark.parametrize("version", FOUND, ids=lambda version: f"{version[0]}.{version[1]}")
def test_the_source_layer(version, site, project):
    (project / "train.py").write_text(SCRIPT)
    here = run(sys.executable, site, project, "check", "--source-only", "--format", "json", "train.py")
    done = run(FOUND[version], site, project, "check", "--source-only", "--format", "json", "train.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == json.loads(here.stdout)
    assert "shuffle-with-sampler" in [finding["check"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("version", FOUND, ids=lambda version: f"{version[0]}.{version[1]}")
def test_the_text_report_the_list_and_the_pages(version, site, project):
    (project / "train.py").write_text(SCRIPT)
    checked = run(FOUND[version], site, project, "check", "--source-only", "train.py")
    assert (checked.returncode, checked.stderr) == (1, "")
    assert re.search(r"^train\.py:6:10  error  shuffle-with-sampler  ", checked.stdout, re.MULTILINE)
    for arguments in (["list"], ["explain", "shuffle-with-sampler"], ["--version"]):
        done = run(FOUND[version], site, project, *arguments)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", FOUND, ids=lambda version: f"{version[0]}.{version[1]}")
def test_the_configuration(version, site, project):
    (project / "train.py").write_text(SCRIPT)
    (project / "pyproject.toml").write_text('[tool.ddpdoctor]\nfail-on = "never"\n')
    done = run(FOUND[version], site, project, "check", "--source-only", "train.py")
    if version >= (3, 11) or (site / "tomli").is_dir():
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 2
        assert done.stderr == "ddpdoctor: pyproject.toml: reading it needs tomli: pip install tomli\n"

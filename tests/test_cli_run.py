"""The command line with a real run behind it: the notice before one, its interruption, its failure."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

FOR_EVER = "import time\nwhile True:\n    time.sleep(0.05)\n"
WRAPS = """\
import os
import torch
from torch.nn.parallel import DistributedDataParallel
if not os.path.exists("data"):
    raise SystemExit("no data here")
torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(2, 2))
torch.distributed.destroy_process_group()
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a run makes its own; the project lies elsewhere."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return folder


def wait_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def descendants(pid: int) -> set[int]:
    """Return the processes that a process started, directly or not."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it ended
                continue
    found, size = {pid}, 0
    while len(found) > size:
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found - {pid}


def runs(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def uses_cpu(pid: int) -> float:
    """Return the seconds that a process and those that it started have used."""
    total = 0
    for each in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def started(scratch: Path) -> Iterator["subprocess.Popen[str]"]:
    """A check-up whose run is under way and would not end by itself."""
    Path("train.py").write_text(FOR_EVER)
    process = subprocess.Popen(
        [sys.executable, "-m", "ddpdoctor", "check", "train.py", "--run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: descendants(process.pid) and os.listdir(scratch), 30, "the run begins")
        before = uses_cpu(process.pid)
        wait_for(lambda: uses_cpu(process.pid) > before + 0.2 or process.poll() is not None, 60, "its processes work")
        yield process
    finally:
        process.kill()
        process.communicate()


def test_an_interrupt_in_the_middle_of_a_run_is_one_line_and_leaves_nothing(started, scratch):
    children = descendants(started.pid)
    assert children
    assert started.poll() is None
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=20)
    assert (started.returncode, out, err) == (130, "", "ddpdoctor: interrupted\n")
    wait_for(lambda: not any(map(runs, children)), 10, "the processes of the run end")
    wait_for(lambda: not os.listdir(scratch), 10, "the folder of the run is removed")
    assert os.listdir() == ["train.py"]


def test_a_run_that_the_default_makes_is_announced_and_its_failure_leaves_the_status_alone(command, scratch):
    Path("train.py").write_text(WRAPS)
    result = command("check", "train.py", "--format", "json", "--ignore", "unprotected-destroy")
    (line,) = result.err.splitlines()
    assert line.startswith("ddpdoctor: running train.py contained")
    assert "--source-only" in line
    report = json.loads(result.out)
    (target,) = report["targets"]
    assert target["layers"]["source"] == {"state": "checked"}
    assert target["layers"]["model"]["state"] in ("not-run", "failed")
    assert "train.py:5" in target["layers"]["model"]["reason"]
    loud = [finding for finding in report["findings"] if finding["severity"] != "note"]
    assert result.status == bool(loud)


def test_a_run_that_was_asked_for_and_cannot_be_made_is_status_3(command, scratch):
    Path("train.py").write_text("import absent_package\n")
    result = command("check", "train.py", "--run")
    assert (result.status, result.err) == (3, "")
    assert "absent_package" in result.out
    assert "Traceback" not in result.out


def test_without_torch_the_default_only_reads_and_says_so(command, scratch, tmp_path):
    Path("train.py").write_text(WRAPS)
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    # As if torch were not installed: it is found nowhere, and its version is not known.
    (hiding / "sitecustomize.py").write_text(
        "import sys\nfrom importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "def hide(name, path=None, target=None):\n"
        "    return None if name.partition('.')[0] == 'torch' else find(name, path, target)\n"
        "PathFinder.find_spec = staticmethod(hide)\n"
    )
    result = command("check", "train.py", "--ignore", "unprotected-destroy", env={"PYTHONPATH": str(hiding)})
    assert result.err == ""
    assert "torch is not installed" in result.out
    assert result.status == 0
    assert command("check", "train.py", "--run", env={"PYTHONPATH": str(hiding)}).status == 3

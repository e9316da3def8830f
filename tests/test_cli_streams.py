"""The command line as a process: its streams closed, broken or not Unicode, interrupts, folders that are read-only."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from unprivileged import as_others

from ddpdoctor.finding import Fault, Finding, Severity
from ddpdoctor.place import Place
from ddpdoctor.plain import main

SCRIPT = "import torch\nloss.backward()  # \N{GREEK SMALL LETTER ALPHA}\n"
POSIX = pytest.mark.skipif(os.name == "nt", reason="it is about POSIX shells and signals")


@pytest.fixture
def script(project: Path) -> Path:
    file = project / "train.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def shell(line: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PY": sys.executable}
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@POSIX
def test_a_reader_that_leaves_is_no_fault(script):
    done = shell('"$PY" -m ddpdoctor list | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"', script.parent)
    assert (done.stdout, done.stderr) == ("0\n", "")


@POSIX
def test_a_closed_standard_output_is_one_line(script):
    done = shell('"$PY" -m ddpdoctor check --source-only train.py >&-', script.parent)
    assert done.returncode == 3
    assert done.stderr == "ddpdoctor: the standard output is closed\n"


@POSIX
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", ["check --source-only train.py", "list", "--help", "--version", "check --help"])
def test_a_full_disk_is_one_line(script, arguments):
    done = shell(f'"$PY" -m ddpdoctor {arguments} >/dev/full', script.parent)
    assert done.returncode == 3
    assert done.stderr == "ddpdoctor: the standard output cannot be written: No space left on device\n"


@POSIX
def test_a_closed_standard_error_changes_nothing(script):
    done = shell('"$PY" -m ddpdoctor check --source-only train.py 2>&-', script.parent)
    assert done.returncode == 0
    assert "(source only)" in done.stdout


@POSIX
def test_an_interrupt_while_it_reads_is_one_line_and_status_130(project):
    process = subprocess.Popen(
        [sys.executable, "-m", "ddpdoctor", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=project,
        text=True,
    )
    try:
        wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (130, "", "ddpdoctor: interrupted\n")


def wait_until_it_reads(process: "subprocess.Popen[str]") -> None:
    """Wait until a process sleeps in a read of its standard input."""
    status, deadline = Path(f"/proc/{process.pid}/syscall"), time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if status.read_text().startswith("0 0x0 "):  # read, from descriptor 0
                return
        except OSError:  # not Linux, or not allowed: long enough for any start
            time.sleep(3)
            return
        time.sleep(0.01)
    raise AssertionError("it never read its standard input")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_a_terminal_cannot_show_is_escaped(engine, script, monkeypatch, encoding):
    fault = Fault(place=Place(str(script), 2, 1, 2, 16), message="\N{GREEK SMALL LETTER ALPHA} is too large")
    engine.findings = (Finding(check="hang", severity=Severity.ERROR, layer="source", fault=fault),)
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding=encoding, errors="strict"))
    assert main(["check", "train.py"]) == 1
    alpha = "\N{GREEK SMALL LETTER ALPHA}" if encoding == "utf-8" else "\\u03b1"
    assert f"hang  {alpha} is too large" in shown.getvalue().decode(encoding)
    assert f"loss.backward()  # {alpha}" in shown.getvalue().decode(encoding)


@POSIX
def test_a_read_only_folder_is_checked_and_a_report_in_it_is_refused(script):
    script.parent.chmod(0o555)
    try:
        checked = as_others("check", "--source-only", "train.py", cwd=script.parent)
        refused = as_others("check", "--source-only", "train.py", "--output", "report.txt", cwd=script.parent)
    finally:
        script.parent.chmod(0o755)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert refused.returncode == 2
    assert refused.stderr == "ddpdoctor: --output: 'report.txt' cannot be written: permission denied\n"


@POSIX
def test_a_file_that_may_not_be_read_is_one_line(script):
    script.chmod(0)
    done = as_others("check", "train.py", cwd=script.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ddpdoctor: 'train.py' cannot be read: permission denied\n"


BOTH = """\
from torch.utils.data import DataLoader, DistributedSampler
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler, shuffle=True)
"""


def test_a_script_on_standard_input_is_checked_and_shown(command, project):
    result = command("check", "-", cwd=project, input=BOTH)
    assert (result.status, result.err) == (1, "")
    assert "-:3:10  error  shuffle-with-sampler  " in result.out
    assert "    3 | loader = DataLoader(data, sampler=sampler, shuffle=True)\n" in result.out
    assert "the standard input is only read" in result.out


@POSIX
def test_a_standard_input_that_is_closed_is_one_line(project):
    done = shell('"$PY" -m ddpdoctor check - <&-', project)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "ddpdoctor: the standard input is closed\n")


def test_a_notebook_is_checked_by_its_cells(command, project):
    cells = [
        {"cell_type": "markdown", "source": ["# Training"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", *BOTH.splitlines(keepends=True)]},
    ]
    (project / "book.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    text = command("check", "book.ipynb", cwd=project)
    assert text.status == 1
    assert "book.ipynb:cell 1:4:10  error  shuffle-with-sampler  " in text.out
    assert "a notebook is only read" in text.out
    select = ["--select", "shuffle-with-sampler"]
    (found,) = json.loads(command("check", "book.ipynb", *select, "--format", "json", cwd=project).out)["findings"]
    assert (found["file"], found["cell"], found["line"]) == ("book.ipynb", 1, 4)
    assert found["places"] == [{"file": "book.ipynb", "line": 3, "cell": 1, "label": "the sampler"}]
    annotation = command("check", "book.ipynb", *select, "--format", "github", cwd=project).out.splitlines()[0]
    assert annotation.startswith("::error title=shuffle-with-sampler,file=book.ipynb::cell 1, line 4: ")
    assert "%0Abook.ipynb:cell 1:3: the sampler" in annotation


def test_nothing_is_left_in_the_folder(command, script):
    result = command("check", "--source-only", "train.py", cwd=script.parent)
    assert result.status == 0
    assert [path.name for path in script.parent.iterdir()] == ["train.py"]


def test_python_m_is_the_same_command(command, project):
    assert command("--version", cwd=project).out.startswith("ddpdoctor ")

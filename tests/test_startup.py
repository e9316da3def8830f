"""What reading a script costs: CPU time and memory of the whole process, against that of importing click."""

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "fixtures" / "torchrun" / "train.py"
ARGUMENTS = ["check", "--source-only", "--fail-on", "never", str(SCRIPT)]
PAIRS = 15
TIMES_CLICK = 2.0
MEBIBYTES = 28

pytestmark = pytest.mark.slow
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not say what a child used")
def test_reading_a_script_of_a_hundred_lines_costs_at_most_twice_as_much_as_importing_click():
    assert 90 <= len(SCRIPT.read_text().splitlines()) <= 130
    check = ("-m", "ddpdoctor", *ARGUMENTS)
    seconds(*check)  # writes the compiled files
    pairs = [(seconds("-c", "import click"), seconds(*check)) for _ in range(PAIRS)]
    assert statistics.median(checked / imported for imported, checked in pairs) <= TIMES_CLICK


def seconds(*arguments: str) -> float:
    """Return the CPU time that a Python process uses from its start to its end."""
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return used.ru_utime + used.ru_stime


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is looked up in /proc")
def test_reading_a_script_of_a_hundred_lines_takes_little_memory():
    lines = (
        f"from ddpdoctor.cli import main\nassert main({ARGUMENTS!r}) == 0\nprint(open('/proc/self/status').read())\n"
    )
    said = subprocess.check_output([sys.executable, "-c", lines], cwd=ROOT, env=ENVIRONMENT, text=True)
    (kibibytes,) = re.findall(r"^VmHWM:\s*(\d+) kB$", said, re.MULTILINE)
    assert int(kibibytes) / 1024 <= MEBIBYTES

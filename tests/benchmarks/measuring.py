"""Measures processes: what CPU time they use and how much memory, one against another in the same minutes."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
"""Without what keeps Python from writing compiled files, or makes it write each byte by itself."""

PARSE = """\
import ast, sys
for file in sys.stdin.read().splitlines():
    try:
        with open(file, "rb") as stream:
            for node in ast.walk(ast.parse(stream.read())):
                pass
    except (SyntaxError, ValueError):
        pass
"""


PEAK = """\
import sys
from ddpdoctor.plain import main
main(sys.argv[1:])
with open("/proc/self/status") as status:
    sys.stderr.write(next(line for line in status if line.startswith("VmHWM:")))
"""
OPTIONS = ("check", "--source-only", "--jobs", "1", "--fail-on", "never")


def seconds(*arguments: str, standard_input: str = "") -> float:
    """Run Python with some arguments and return the CPU time that it used from its start to its end."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(os.fsencode(standard_input))
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return usage.ru_utime + usage.ru_stime


def importing_click() -> float:
    """Return the seconds that it takes to start Python and import click."""
    return seconds("-c", "import click")


def parsing(files: Sequence[str]) -> float:
    """Return the seconds that it takes to parse files and to walk over their trees."""
    return seconds("-c", PARSE, standard_input="\n".join(files))


def checking(*paths: str) -> float:
    """Return the seconds that it takes to read scripts or folders, in one process."""
    return seconds("-m", "ddpdoctor", *OPTIONS, *paths)


def peak(*paths: str) -> float:
    """Return the MiB that reading scripts or folders takes at the most."""
    command = [sys.executable, "-c", PEAK, *OPTIONS, *paths]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return int(done.stderr.split("VmHWM:")[1].split()[0]) / 1024


def middle(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the middle ratio in pairs: the first of each over the second."""
    return statistics.median(first / second for first, second in pairs)

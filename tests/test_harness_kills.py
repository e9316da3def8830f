"""Nothing of a run is left, whatever ends the parent and whenever."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from left_behind import processes_of, wait_until

from ddpdoctor.harness.run_folder import plan_data

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

DRIVER = Path(__file__).resolve().parent / "harness_run.py"
PORT = 29517

Start = Callable[[str], "subprocess.Popen[bytes]"]

BUSY_SCRIPT = f"""
import multiprocessing, os, socket, subprocess, sys, time
child.say("GroupInit")
os.makedirs(f"locked{{RANK}}/inner")
open(f"locked{{RANK}}/inner/file", "w").close()
os.chmod(f"locked{{RANK}}", 0)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
process.start()
if RANK == 0:
    server = socket.create_server(("127.0.0.1", {PORT}))
print("busy", flush=True)
while True:
    time.sleep(0.01)
    child.collective(wait=0.01)
"""


@pytest.fixture
def start(harness: "Harness") -> Iterator[Start]:
    """Start a parent, in a containment, whose ranks run until they are ended."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(containment: str) -> subprocess.Popen[bytes]:
        plan = harness.plan(BUSY_SCRIPT, containment=containment, timeout=60.0)
        driver = subprocess.Popen(
            [sys.executable, str(DRIVER), json.dumps(plan_data(plan))],
            env={**os.environ, "TMPDIR": str(harness.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(driver)
        return driver

    yield begin
    for driver in started:
        driver.kill()
        driver.communicate()


def end(driver: subprocess.Popen[bytes], number: signal.Signals) -> float:
    """Send a signal to the parent and return after how many seconds it was gone."""
    since = time.monotonic()
    driver.send_signal(number)
    driver.wait(20)
    return time.monotonic() - since


def assert_nothing_left(harness: "Harness", seconds: float) -> None:
    wait_until(lambda: not processes_of(harness.temporary), seconds)
    wait_until(lambda: not list(harness.temporary.glob("*")), seconds)
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", PORT))
    assert sorted(path.name for path in harness.folder.iterdir()) == ["train.py"]


def wait_until_busy(harness: "Harness") -> None:
    wait_until(lambda: len(processes_of(harness.temporary)) >= 6, 20)


@pytest.mark.parametrize("containment", ["overlay", "rootless", "copy"])
def test_a_killed_parent_leaves_nothing(harness: "Harness", start: Start, containment: str) -> None:
    driver = start(containment)
    wait_until_busy(harness)
    end(driver, signal.SIGKILL)
    assert_nothing_left(harness, 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_parent_ends_at_once_and_leaves_nothing(
    harness: "Harness", start: Start, number: signal.Signals
) -> None:
    driver = start("auto")
    wait_until_busy(harness)
    assert end(driver, number) < 2
    assert driver.returncode == -number
    assert_nothing_left(harness, 2)


def test_a_killed_guardian_leaves_nothing(harness: "Harness", start: Start) -> None:
    driver = start("overlay")
    wait_until_busy(harness)
    children = Path("/proc").glob("[0-9]*/stat")
    (guardian,) = [
        int(stat.parent.name)
        for stat in children
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[1] == str(driver.pid)
    ]
    os.kill(guardian, signal.SIGKILL)
    assert driver.wait(20) == 0
    assert_nothing_left(harness, 2)


@pytest.mark.slow
def test_ten_kills_at_random_moments_leave_nothing(harness: "Harness", start: Start) -> None:
    chance = random.Random(20_241)
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
    containments = ("overlay", "copy", "rootless")
    for round_ in range(10):
        driver = start(containments[round_ % 3])
        assert driver.stdout is not None and driver.stdout.readline() == b"begins\n"
        time.sleep(chance.uniform(0, 1.0))
        end(driver, signals[round_ % 4])
        assert_nothing_left(harness, 5)

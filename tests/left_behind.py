"""Looks for what a run may have left behind, with deadlines."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ddpdoctor.harness.run_folder import RUN_VARIABLE


def wait_until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait for a condition with a deadline, and return what it returned."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {condition}")


def processes_of(temporary: Path) -> list[int]:
    """Return the processes that belong to a run with its folder beneath ``temporary``: they know it by a variable."""
    found = []
    mark = f"{RUN_VARIABLE}={temporary}/".encode()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(int(name))
    return found

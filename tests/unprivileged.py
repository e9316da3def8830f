"""Runs the command line as somebody to whom permissions apply, also where the tests run as the superuser."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path


def as_others(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command to which permissions apply, also where the tests run as the superuser."""
    return subprocess.run(
        [sys.executable, "-m", "ddpdoctor", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=give_up_overriding_permissions if os.geteuid() == 0 else None,
    )


def give_up_overriding_permissions() -> None:
    drop_from_bounding_set = 24  # PR_CAPBSET_DROP
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if ctypes.CDLL(None, use_errno=True).prctl(drop_from_bounding_set, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")

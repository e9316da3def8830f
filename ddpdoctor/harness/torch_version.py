"""Whether a torch that the run layers can work with is installed; asked without importing it."""

import importlib.metadata
import importlib.util
import re

FLOOR = (2, 6)
"""The oldest torch release that the tests ran on."""


def missing() -> str | None:
    """Return in a line why there is no torch to run with; ``None`` when there is one."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed beside ddpdoctor: `pip install torch torchvision`"
    version = installed()
    if version is None:
        return "torch is there but not its version: install it with pip or conda"
    if release(version) < FLOOR:
        return (
            f"torch {version} is older than {'.'.join(map(str, FLOOR))}, the oldest that the run layers were tested on"
        )
    return None


def installed() -> str | None:
    """Return the version of the installed torch."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def release(version: str) -> tuple[int, int]:
    """Return major and minor number of a version; (0, 0) when it does not begin with numbers."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)

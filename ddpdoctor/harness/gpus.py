"""Counts the machine's GPUs without importing torch or starting a driver."""

import glob
import os
from collections.abc import Mapping


def visible(environment: Mapping[str, str], dev: str = "/dev") -> int:
    """Return how many NVIDIA GPUs a program sees: their device files, narrowed by CUDA_VISIBLE_DEVICES.

    AMD's are not counted: ROCm was not tested.
    """
    present = [path for path in glob.glob(f"{dev}/nvidia[0-9]*") if os.path.basename(path)[6:].isdecimal()]
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    if chosen is None or not present:
        return len(present)
    return min(len(present), sum(1 for name in chosen.split(",") if name.strip() not in ("", "-1")))


def backend(asked: str, ranks: int, gpus: int, torch_version: str | None) -> str:
    """Return the backend for a run: ``native`` where each rank gets a GPU and torch can use it, else ``redirect``."""
    if asked != "auto":
        return asked
    return "native" if gpus >= ranks and not (torch_version or "").endswith("+cpu") else "redirect"

"""Observes what the script writes into its environment, of the variables that launch and place a distributed run."""

import os
import sys
from typing import Any

from ddpdoctor.events import EnvSet
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.value import Constant

WATCHED = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "CUDA_DEVICE_ORDER",
        "HIP_VISIBLE_DEVICES",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "GROUP_RANK",
        "OMP_NUM_THREADS",
    }
)
"""The variables whose writing is an event."""

WATCHED_PREFIXES = ("MASTER_", "NCCL_", "GLOO_", "TORCH_", "TORCHELASTIC_")
"""What the names of further ones begin with."""


_MAPPINGS = (__name__, "os", "_collections_abc", "collections.abc")
"""The modules whose functions stand between a write and the script: those of ``update``, for one."""


def install(observer: Observer) -> None:
    """Observe ``os.environ`` in all its ways of being written, and ``os.putenv``."""
    writes = Writes(observer)
    observer.patches.wrap(type(os.environ), "__setitem__", writes.set)
    observer.patches.wrap(type(os.environ), "setdefault", writes.set_if_unset)
    observer.patches.wrap(os, "putenv", writes.put)


class Writes:
    """Writes to the environment by the script itself: those of libraries are theirs."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._inside = False

    def set(self, original: Any) -> Any:
        """Make the replacement of ``os.environ.__setitem__``, which ``update`` and ``|=`` use too."""

        def setitem(environment: Any, name: Any, value: Any) -> None:
            self._write(name, value, fallback=False)
            self._calling(original, environment, name, value)

        return setitem

    def set_if_unset(self, original: Any) -> Any:
        """Make the replacement of ``os.environ.setdefault``."""

        def setdefault(environment: Any, name: Any, value: Any) -> Any:
            self._write(name, value, fallback=True)
            return self._calling(original, environment, name, value)

        return setdefault

    def put(self, original: Any) -> Any:
        """Make the replacement of ``os.putenv``."""

        def putenv(name: Any, value: Any) -> None:
            self._write(name, value, fallback=False)
            original(name, value)

        return putenv

    def _calling(self, function: Any, *args: Any) -> Any:
        outer, self._inside = self._inside, True
        try:
            return function(*args)
        finally:
            self._inside = outer

    def _write(self, name: Any, value: Any, *, fallback: bool) -> None:
        if self._inside or not isinstance(name, (str, bytes)):
            return
        text = os.fsdecode(name)
        if text not in WATCHED and not text.startswith(WATCHED_PREFIXES):
            return
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_globals.get("__name__") in _MAPPINGS:
            frame = frame.f_back
        if self._observer.frames.is_user(frame):
            said = os.fsdecode(value) if isinstance(value, (str, bytes)) else str(value)
            self._observer.recorder.write(EnvSet, name=text, value=Constant(value=said), fallback=fallback)

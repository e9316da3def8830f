"""Keeps names alive that scripts of earlier years use and that today's libraries have dropped."""

import collections
import collections.abc
import importlib.machinery
import math
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer

TORCH_SIX = "torch._six"
"""A module that torch had until 1.13."""

NUMPY_TYPES = {"float": float, "int": int, "bool": bool, "object": object, "complex": complex, "str": str}
"""Aliases of Python's own types that NumPy had until 1.24."""

COLLECTIONS = ("Iterable", "Iterator", "Mapping", "MutableMapping", "Sequence", "Callable", "Sized", "Container")
"""Abstract classes that ``collections`` had until Python 3.10."""


def install(observer: Observer) -> None:
    """Have the old names found by the script; libraries, which ask whether they exist, get the truth."""
    sys.meta_path.append(TorchSix(observer))
    _give(observer, collections, {name: getattr(collections.abc, name) for name in COLLECTIONS})
    observer.patches.on_import("numpy", lambda numpy: _give(observer, numpy, NUMPY_TYPES))


def _give(observer: Observer, module: ModuleType, names: dict[str, Any]) -> None:
    own: Callable[[str], Any] | None = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name in names and observer.frames.is_user(observer.caller()):
            observer.recorder.substituted(f"{module.__name__}.{name}, which is no more", "what it stood for")
            return names[name]
        if own is not None:
            return own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    vars(module)["__getattr__"] = __getattr__


class TorchSix(MetaPathFinder, Loader):
    """Finds ``torch._six``."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the stand-in, when torch itself has no such module any more."""
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == TORCH_SIX else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave the making of the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module with what it had."""
        self._observer.recorder.substituted(f"{TORCH_SIX}, which is no more", "what it stood for")
        vars(module).update(
            inf=math.inf,
            nan=math.nan,
            string_classes=(str, bytes),
            int_classes=int,
            container_abcs=collections.abc,
            PY3=True,
            PY37=True,
        )

"""Observes files that hold the training's state or its data: saved, loaded, downloaded."""

import os
from functools import partial
from types import ModuleType
from typing import Any

from ddpdoctor.events import FileUsed
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.value import Constant, Unknown, Value

SAVING = (("numpy", ("save", "savez", "savez_compressed"), 0), ("safetensors.torch", ("save_file",), 1))
"""Modules, their functions that save, and which argument names the file."""


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe saving and loading."""
    import pickle

    saving = Saving(observer)
    patches = observer.patches
    patches.wrap(torch, "save", lambda original: saving.function(original, "torch.save", "f", 1))
    patches.wrap(torch.jit, "save", lambda original: saving.function(original, "torch.jit.save", "f", 1))
    patches.wrap(torch, "load", lambda original: _loading(observer, original))
    patches.wrap(pickle, "dump", lambda original: saving.function(original, "pickle.dump", "file", 1))
    for module, names, position in SAVING:
        patches.on_import(module, partial(saving.all, names, position))


class Saving:
    """Writes down what is saved where."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def all(self, names: tuple[str, ...], position: int, module: ModuleType) -> None:
        """Observe functions of a module."""
        for name in names:
            self._observer.patches.wrap_if_there(
                module,
                name,
                partial(self.function, name=f"{module.__name__}.{name}", keyword="file", position=position),
            )

    def function(self, original: Any, name: str, keyword: str, position: int) -> Any:
        """Make the replacement of a function that saves to the file that one argument names."""

        def save(*args: Any, **kwargs: Any) -> Any:
            observer = self._observer
            if not observer.frames.is_user(observer.caller()):
                return through(original, *args, **kwargs)
            if observer.trial is not None:
                return None  # the copy of a process leaves the files of the process alone
            target = args[position] if len(args) > position else kwargs.get(keyword)
            use(observer, "save", target, name)
            return through(original, *args, **kwargs)

        return save


def _loading(observer: Observer, original: Any) -> Any:
    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        if observer.frames.is_user(observer.caller()):
            use(observer, "load", f, "torch.load")
            device = map_location
            if isinstance(map_location, dict):
                device = next(iter(map_location.values()), "cpu")
            if device is not None and not callable(device):
                observer.devices.used(device, "torch.load")
        return through(original, f, map_location, *args, **kwargs)

    return load


def use(observer: Observer, op: str, target: Any, by: str) -> None:
    """Write that a file is used, given by its path or open."""
    observer.recorder.write(FileUsed, op=op, path=path_of(target), by=by)


def path_of(target: Any) -> Value:
    """Return the absolute path of a file that is named or open."""
    named = target if isinstance(target, (str, bytes, os.PathLike)) else getattr(target, "name", None)
    if isinstance(named, (str, bytes, os.PathLike)):
        return Constant(value=os.path.abspath(os.fsdecode(named)))
    return Unknown(why=type(target).__qualname__)

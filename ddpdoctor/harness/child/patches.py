"""Puts our functions in the place of others', and says when there is nothing to replace."""

import contextlib
import functools
import importlib.machinery
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.recorder import Recorder

Make = Callable[[Any], Callable[..., Any]]
"""Makes the replacement of a function from the original."""


class Patches:
    """Replaces attributes of modules and classes; one that does not exist is left out, and a Cut event says so."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.imports = Imports()

    def wrap(self, owner: Any, name: str, make: Make, *, also: Iterable[Any] = ()) -> bool:
        """Replace ``owner.name`` by what ``make`` makes of it, in ``also`` too where they export the same object.

        Return whether it was there to be replaced.
        """
        original = getattr(owner, name, None)
        if original is None:
            self._recorder.cut(f"observing {_named(owner)}.{name}", "this release of the library has no such name")
            return False
        replacement = make(original)
        with contextlib.suppress(AttributeError, TypeError):  # a callable object that takes no attributes
            functools.update_wrapper(replacement, original)
        setattr(owner, name, replacement)
        for other in also:
            if getattr(other, name, None) is original:
                setattr(other, name, replacement)
        return True

    def wrap_if_there(self, owner: Any, name: str, make: Make) -> bool:
        """Replace ``owner.name`` where it exists; older and newer releases may do without."""
        return getattr(owner, name, None) is not None and self.wrap(owner, name, make)

    def on_import(self, module: str, then: Callable[[ModuleType], None]) -> None:
        """Call a function with a module once its code has run: now, when it has been imported already."""
        self.imports.add(module, then)


def modules_of(package: ModuleType) -> tuple[ModuleType, ...]:
    """Return a package and the modules of it that are loaded: they may hold by name what others of them define."""
    inside = (module for name, module in sys.modules.items() if name.startswith(f"{package.__name__}."))
    return package, *inside


def _named(owner: Any) -> str:
    module = getattr(owner, "__module__", None)
    name = str(getattr(owner, "__qualname__", None) or getattr(owner, "__name__", owner))
    return f"{module}.{name}" if module else name


class Imports(MetaPathFinder):
    """Finds modules as they would be found anyway, and calls back once one that is waited for has been executed."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Callable[[ModuleType], None]]] = {}
        self._finding: set[str] = set()

    def add(self, name: str, then: Callable[[ModuleType], None]) -> None:
        """Wait for a module."""
        module = sys.modules.get(name)
        if module is not None and getattr(getattr(module, "__spec__", None), "_initializing", False) is False:
            then(module)
            return
        self._waiting.setdefault(name, []).append(then)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module that is waited for with the other finders."""
        if fullname not in self._waiting or fullname in self._finding:
            return None
        self._finding.add(fullname)
        try:
            spec = self._found_by_others(fullname, path, target)
        finally:
            self._finding.discard(fullname)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def execute_and_tell(module: ModuleType) -> None:
            execute(module)
            for then in self._waiting.pop(fullname, ()):
                then(module)

        loader.exec_module = execute_and_tell
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: importlib.machinery.ModuleSpec | None = find(fullname, path, target)
            if spec is not None:
                return spec
        return None

"""The project's own modules: where they are looked for, and what is known of each."""

import ast
import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from ddpdoctor.reader.module import Module
from ddpdoctor.reader.source import Source

MAX_MODULES = 3_000
"""More modules than any project was seen to have; it bounds what a package that imports itself can cost."""

MAX_INNER = 40
"""In so many folders of a folder modules are looked for, to know whether it is a package."""

NEVER_OURS = frozenset(
    [
        *("torch", "torchvision", "torchaudio", "numpy", "os", "sys", "argparse", "time", "math", "random"),
        *("json", "logging", "re", "collections", "functools", "typing", "itertools", "pathlib"),
        *("subprocess", "shutil", "copy", "datetime", "contextlib", "dataclasses", "abc", "enum", "glob"),
        *("socket", "signal", "warnings", "pickle", "io", "string", "threading", "multiprocessing", "tqdm"),
        *("wandb", "yaml", "PIL", "cv2", "scipy", "pandas", "matplotlib", "sklearn", "transformers"),
        *("timm", "einops", "apex", "deepspeed", "accelerate", "lightning", "pytorch_lightning"),
        *("tensorboardX", "omegaconf", "hydra", "ignite", "mmengine", "mmcv", "horovod", "colossalai"),
        *("trl", "diffusers", "torch_xla", "lightning_fabric"),
    ]
)
"""Top-level names that are taken from outside the project unless the script's own folder has them."""


def is_project(folder: str) -> bool:
    """Whether a folder is that of a project which is installed as a package."""
    return os.path.isfile(os.path.join(folder, "pyproject.toml")) or os.path.isfile(os.path.join(folder, "setup.py"))


def description(file: str) -> str:
    """Return the beginning of a file that describes a project; of one that is not there or not readable, nothing."""
    if not os.path.isfile(file):  # a pipe would have nobody at its other end
        return ""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read(MAX_DESCRIPTION)
    except OSError:
        return ""


MAX_DESCRIPTION = 100_000
"""In characters: longer ones hold data."""


def import_roots(script: str, directory: str) -> tuple[str, ...]:
    """Return the folders that the project's modules are looked for in, nearest first.

    These are the script's folder and its parents up to the working directory (a script is often run as a module from
    there), the working directory, and the nearest pyproject.toml's folder with its ``src``; never where packages are
    installed, each of which is a project of its own.
    """
    roots: list[str] = []
    folder = os.path.dirname(script)
    inside = os.path.commonpath([folder, directory]) == directory if os.path.isabs(directory) else False
    while folder not in roots:
        roots.append(folder)
        if not inside or folder == directory:
            break
        folder = os.path.dirname(folder)
    roots.append(directory)
    folder = os.path.dirname(script)
    for _ in range(8):
        if is_project(folder):
            roots += [folder, os.path.join(folder, "src")]
            break
        folder = os.path.dirname(folder)
    return tuple(dict.fromkeys(root for root in roots if os.path.isdir(root) and not _holds_installed(root)))


def _holds_installed(folder: str) -> bool:
    return os.path.basename(folder) in ("site-packages", "dist-packages")


@lru_cache(maxsize=2_000)
def _listed(folder: str, _changed: int) -> frozenset[str]:
    """Return what is in a folder, looked for once until it has changed."""
    return frozenset(os.listdir(folder))


class Project:
    """Finds and holds the modules that a program is made of; ``written`` are those that a notebook writes, by path."""

    def __init__(self, script: str, directory: str, written: Mapping[str, Source] = MappingProxyType({})) -> None:
        self.script = script
        self.written = written
        self.directory = directory
        self.roots = import_roots(script, directory)
        if written:  # into a folder that is not there yet, perhaps
            self.roots = tuple(dict.fromkeys((os.path.dirname(script), *self.roots)))
        self.common_roots = (directory, *(root for root in self.roots if is_project(root)))
        self.modules: dict[str, Module | None] = {}
        self._by_file: dict[str, Module] = {}
        self._members: tuple[str, ...] | None = None  # the folders of the workspace's packages, once asked for
        self._installed: dict[str, str] = {}  # the folder in which the package is installed that the script is in
        self._listings: dict[str, frozenset[str]] = {}
        self.main = Module("__main__", script)
        self.modules["__main__"] = self.main
        self.overflowed = False

    def find(self, name: str) -> Module | None:
        """Return the project's module of a dotted name, or ``None`` when the name is from outside."""
        if name not in self.modules:
            self.modules[name] = self._locate(name)
        return self.modules[name]

    def look_in(self, folder: str) -> None:
        """Look for modules in one more folder, after all others: those too that were not found before."""
        if folder not in self.roots:
            self.roots = (*self.roots, folder)
            self.modules = {name: module for name, module in self.modules.items() if module is not None}

    def imported(self) -> tuple[Module, ...]:
        """Return the modules that import statements named so far, in that order."""
        return tuple(self._by_file.values())

    def submodules(self, package: Module, inside: str = "") -> list[Module]:
        """Return the modules that lie in a package's folder; with ``inside``, ``.train`` say, those in its packages."""
        folder = package.file if os.path.isdir(package.file) else os.path.dirname(package.file)
        if inside:
            names = sorted(f"{name}{inside}" for name in self._entries(folder) if "." not in name)
        else:
            names = sorted(
                name[:-3] for name in self._entries(folder) if name.endswith(".py") and name != "__init__.py"
            )
        return [module for name in names if (module := self.find(f"{package.name}.{name}")) is not None]

    def _locate(self, name: str) -> Module | None:
        parent, _, last = name.rpartition(".")
        if parent:
            package = self.find(parent)
            if package is None or not package.is_package:
                return None
            folder = package.file if package.is_namespace else os.path.dirname(package.file)
            return self._in_folder(folder, last, name)
        roots = self.roots[:1] if name in NEVER_OURS else self.roots
        for root in roots:
            module = self._in_folder(root, last, name)
            if module is not None:
                return module
        if name in NEVER_OURS:
            return None
        if name in self._installed:
            return self._in_folder(self._installed[name], last, name)
        return self._renamed_package(name) or self._beside(name)

    def _beside(self, name: str) -> Module | None:
        """Return a package of another project of the same workspace."""
        if name in sys.stdlib_module_names:
            return None
        if self._members is None:
            from ddpdoctor.reader.workspace import members  # most scripts import nothing that is looked for there

            self._members = members(os.path.dirname(self.script)) if os.path.isabs(self.script) else ()
        found = (self._in_folder(folder, name, name) for folder in self._members)
        return next((module for module in found if module is not None), None)

    def _renamed_package(self, name: str) -> Module | None:
        """Return the package that the script is in, where it is imported by its name and the folder is a copy of it.

        A checkout is often called otherwise: ``name-main``, ``owner-name``, ``name_v2``.
        """
        for folder in self.roots:
            plain = os.path.basename(folder).lower().replace("-", "_")
            if name.lower() in plain and "__init__.py" in self._entries(folder):
                return self._module(name, os.path.join(folder, "__init__.py"), is_package=True)
        return None

    def _in_folder(self, folder: str, last: str, name: str) -> Module | None:
        entries = self._entries(folder)
        path = os.path.join(folder, last)
        if last in entries:
            inside = self._entries(path)
            if "__init__.py" in inside:
                return self._module(name, os.path.join(path, "__init__.py"), is_package=True)
        if last + ".py" in entries and self._is_file(path + ".py"):  # no folder, no pipe
            return self._module(name, path + ".py")
        if last in entries and self._holds_modules(path):
            return self._module(name, path, is_package=True, is_namespace=True)
        return None

    def _holds_modules(self, folder: str) -> bool:
        """Whether a folder without ``__init__.py`` has modules in it, or folders that have some."""
        entries = self._entries(folder)
        if any(entry.endswith(".py") for entry in entries):
            return True
        inner = sorted(entry for entry in entries if "." not in entry)[:MAX_INNER]
        return any(name.endswith(".py") for entry in inner for name in self._entries(os.path.join(folder, entry)))

    def _is_file(self, file: str) -> bool:
        return file in self.written or os.path.isfile(file)

    def _module(self, name: str, file: str, *, is_package: bool = False, is_namespace: bool = False) -> Module | None:
        if file == self.script:
            return self.main
        if file not in self._by_file:
            if len(self._by_file) >= MAX_MODULES:
                self.overflowed = True
                return None
            module = Module(name, file, is_package=is_package, is_namespace=is_namespace)
            module.source = self.written.get(file)
            self._by_file[file] = module
        return self._by_file[file]

    def may_hold(self, package: Module, name: str) -> bool:
        """Whether a package can have a module of a name: there is a file or folder of that name in its folder."""
        entries = self._entries(package.file if package.is_namespace else os.path.dirname(package.file))
        return name in entries or f"{name}.py" in entries

    def _entries(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            try:
                self._listings[folder] = _listed(folder, os.stat(folder).st_mtime_ns)
            except OSError:
                self._listings[folder] = frozenset()
            if self.written:
                self._listings[folder] |= self._written_in(folder)
        return self._listings[folder]

    def _written_in(self, folder: str) -> frozenset[str]:
        inside = os.path.join(folder, "")
        rest = (file[len(inside) :] for file in self.written if file.startswith(inside))
        return frozenset(path.split(os.sep)[0] for path in rest)

    def name_of(self, file: str) -> str:
        """Return the dotted name of the module that a file is; empty for the script itself."""
        module = self._by_file.get(file)
        main = self.main.source
        if file == self.script or (main is not None and file == main.notebook):
            return ""
        return os.path.basename(file) if module is None else module.name

    def trees(self) -> tuple[ast.Module, ...]:
        """Return the syntax trees of the modules that were parsed so far."""
        sources = (module.source for module in (self.main, *self._by_file.values()))
        return tuple(source.tree for source in sources if source is not None and source.tree is not None)

    def source_of(self, file: str) -> Source | None:
        """Return the source of a file that was parsed."""
        for module in (self.main, *self._by_file.values()):
            if module.source is not None and module.source.file == file:
                return module.source
        return None

    def absolute(self, importer: Module, level: int, name: str | None) -> str | None:
        """Return the dotted name that a relative import means in a module, or ``None`` when it leaves the project."""
        if importer is self.main:
            base = self._package_of_script()
        else:
            base = importer.name.split(".")
            base = base if importer.is_package else base[:-1]
        if level - 1 > len(base):
            return None
        kept = base[: len(base) - (level - 1)]
        return ".".join([*kept, name] if name else kept) or None

    def _package_of_script(self) -> list[str]:
        """Return the package that the script is in when it is run with ``-m``: the folders with ``__init__.py``."""
        package: list[str] = []
        folder = os.path.dirname(self.script)
        while "__init__.py" in self._entries(folder) and os.path.dirname(folder) != folder:
            package.insert(0, os.path.basename(folder))
            folder = os.path.dirname(folder)
        if package and _holds_installed(folder):
            if not self._installed:
                self._installed = {package[0]: folder}
                self.modules.pop(package[0], None)
        elif package and folder not in self.roots:
            self.roots = (*self.roots, folder)
        return package

"""All code of a project that a script can come to by names: whether it is about distributed training."""

import os

from ddpdoctor.content import read_file
from ddpdoctor.reader.concern import found_silent
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.outline import Block, Imported, Outline, outline, outline_of
from ddpdoctor.reader.project import Project, is_project
from ddpdoctor.reader.source import MAX_BYTES


class Search:
    """Goes from a script to all code that it can come to by names: as Python does, or further."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._silent = set() if project.written else found_silent(project.roots)
        self._silent_in_packages = set() if project.written else found_silent(project.common_roots)
        self._seen: dict[Block, Module] = {}
        self._pending: list[tuple[Module, Block]] = []
        self._outlines: dict[Module, Outline] = {}
        self._imported: list[Module] = []
        self._asked: set[tuple[Module, tuple[str, ...]]] = set()
        self._unread = False
        self._calls_by_name = False

    def reaches_words(self) -> bool:
        """Whether code with one of the words is among it, or what cannot be told."""
        main = self._project.main
        self._pending.append((main, self._outline(main).whole))
        while self._pending or self._imported:
            while self._imported:
                self._imports_run(self._imported.pop())
            if self._unread:
                return True
            if self._pending:
                module, block = self._pending.pop()
                if block.spoken:
                    return True
                self._calls_by_name = self._calls_by_name or (block.calls_by_name and not self._is_of_library(module))
                self._follow(module, block)
        if self._calls_by_name:
            return self._is_about_torch()
        for block, module in self._seen.items():
            (self._silent_in_packages if self._is_common(module) else self._silent).add(block)
        return False

    def _is_about_torch(self) -> bool:
        """Whether a module that was come to, or one beside the script, imports torch: a name may mean a training."""
        imports = (imported for found in self._outlines.values() for imported in found.imports)
        if any(imported.module.partition(".")[0] == "torch" for imported in imports):
            return True
        return any(b"import torch" in _content(file) for file in _beside(self._project.script))

    def _is_of_library(self, module: Module) -> bool:
        """Whether a module is in a package that its project installs: what that calls by names are its own parts."""
        top = self._project.find(module.name.partition(".")[0])
        if top is None or not top.is_package or top.is_namespace:
            return False
        return is_project(os.path.dirname(os.path.dirname(top.file)))

    def _is_common(self, module: Module) -> bool:
        """Whether a module is in a package that scripts in other folders import by the same name."""
        top = self._project.find(module.name.partition(".")[0])
        if top is None or not top.is_package:
            return False
        folder = top.file if top.is_namespace else os.path.dirname(top.file)
        return os.path.dirname(folder) in self._project.common_roots

    def _is_silent(self, block: Block) -> bool:
        return block in self._silent_in_packages or block in self._silent

    def _follow(self, module: Module, block: Block) -> None:
        """Go on to what a block's names can mean."""
        outline = self._outline(module)
        starred = any(self._module_of(module, star) is not None for star in outline.stars)
        for first, chains in block.dotted.items():
            if starred or first in outline.blocks or first in outline.bound or self._is_inside(module, first):
                for chain in chains:
                    names = tuple(chain.split("."))
                    self._named(module, (*names, "*") if chain in block.worked_out else names)
        if block.anything:
            self._all_of(module)

    def _named(self, module: Module, names: tuple[str, ...]) -> None:
        """Go on to what a dotted name means in a module; ``*`` is all that is in it."""
        if (module, names) in self._asked:
            return
        self._asked.add((module, names))
        first, rest = names[0], names[1:]
        outline = self._outline(module)
        if first == "*":
            self._all_of(module)
        self._push(module, outline.blocks.get(first, ()))
        for imported in outline.bound.get(first, ()):
            self._imported_name(module, imported, rest)
        for star in outline.stars:
            found = self._module_of(module, star)
            if found is not None:
                self._named(found, names)
        if self._is_inside(module, first):
            self._in_module(self._project.find(f"{module.name}.{first}"), rest)

    def _is_inside(self, module: Module, name: str) -> bool:
        """Whether a name can be that of a module inside another one."""
        return module.is_package and self._project.may_hold(module, name)

    def _imported_name(self, importer: Module, imported: Imported, rest: tuple[str, ...]) -> None:
        """Go on to what an imported name means; a module that is handed on whole can be asked for anything."""
        module = self._module_of(importer, imported)
        if not imported.taken:
            self._in_module(module, rest or (("*",) if "." in imported.module else ()))
        elif module is not None:
            self._named(module, (imported.taken, *(rest or ("*",))))
        elif imported.level:
            name = self._absolute(importer, imported)
            self._in_module(self._project.find(f"{name}.{imported.taken}" if name else imported.taken), rest or ("*",))

    def _in_module(self, module: Module | None, names: tuple[str, ...]) -> None:
        if module is not None and names:
            self._named(module, names)

    def _all_of(self, module: Module) -> None:
        outline = self._outline(module)
        for name in (*outline.blocks, *outline.bound):
            self._named(module, (name,))

    def _push(self, module: Module, blocks: tuple[Block, ...]) -> None:
        for block in blocks:
            if block not in self._seen and not self._is_silent(block):
                self._seen[block] = module
                self._pending.append((module, block))

    # --- modules -----------------------------------------------------------------------------------------------

    def _outline(self, module: Module) -> Outline:
        """Return a module's outline; the first time, what its import runs is gone on to."""
        found = self._outlines.get(module)
        if found is None:
            found = self._outlines[module] = self._read(module)
            if not self._is_silent(found.rest):
                self._push(module, (found.rest,))
                self._imported.append(module)
        return found

    def _imports_run(self, importer: Module) -> None:
        """Go on to what the modules that a module imports do at that time."""
        outline = self._outlines[importer]
        for imported in outline.imports:
            name = self._absolute(importer, imported)
            for part in self._parts(name or ""):
                self._outline(part)
            submodule = self._project.find(f"{name}.{imported.taken}") if name and imported.taken else None
            if submodule is not None:
                self._outline(submodule)

    def _read(self, module: Module) -> Outline:
        if module.source is not None:
            return outline(module.source.text)
        if module.is_namespace:
            return outline("")
        try:
            status = os.stat(module.file)
            return outline_of(module.file, status.st_mtime_ns, status.st_size)
        except OSError:
            self._unread = True
            return outline("")

    def _absolute(self, importer: Module, imported: Imported) -> str | None:
        if not imported.level:
            return imported.module
        return self._project.absolute(importer, imported.level, imported.module or None)

    def _module_of(self, importer: Module, imported: Imported) -> Module | None:
        name = self._absolute(importer, imported)
        return self._project.find(name) if name else None

    def _parts(self, name: str) -> list[Module]:
        """Return the project's modules that importing a dotted name runs: the packages that it is in, and itself."""
        found: list[Module] = []
        whole = ""
        for part in name.split(".") if name else ():
            whole = f"{whole}.{part}" if whole else part
            module = self._project.find(whole)
            if module is None:
                break
            found.append(module)
        return found


MAX_BESIDE = 40
"""Among so many files beside a script what it names is looked for."""


def _beside(script: str) -> list[str]:
    folder = os.path.dirname(script)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".py")][:MAX_BESIDE]


def _content(file: str) -> bytes:
    try:
        return read_file(file, MAX_BYTES)
    except OSError:
        return b""

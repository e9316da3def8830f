"""Whether a program can have anything to do with distributed training, as far as its text and its modules' tell."""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ddpdoctor.reader.project import Module, Project
from ddpdoctor.reader.source import MAX_BYTES

WORDS = re.compile(
    r"torch\.distributed|torch\.multiprocessing|nn\.parallel|DataParallel|Distributed\w*Sampler|init_process_group|"
    r"init_distributed|from torch import[^\n]*(?:distributed|multiprocessing)|local[_-]rank|LOCAL_RANK|"
    r"CUDA_VISIBLE_DEVICES|(?:from|import)[ \t]+"
    r"(?:lightning|pytorch_lightning|lightning_fabric|accelerate|deepspeed|horovod|fairscale|apex|ray|mpi4py)\b"
)
"""One of these stands in every program in which a check can find something: the names by which code comes to torch's
process groups, replicas and launchers, and to what hides them."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#]*)|"
    r"import[ \t]+(?P<plain>[^\n#]*))",
    re.M,
)
_NAME = re.compile(r"([\w.]+)(?:\s+as\s+\w+)?")


class Imported(NamedTuple):
    """An import statement: the dots before a module's name, the name, and the names that are taken from it."""

    level: int
    module: str
    names: tuple[str, ...] = ()


Imports: TypeAlias = tuple[Imported, ...]


def may_concern(project: Project) -> bool:
    """Whether the script, or a module of its project that it imports, directly or not, has one of ``WORDS``."""
    seen: set[str] = set()
    pending = [project.main]
    while pending:
        module = pending.pop()
        if module.file in seen:
            continue
        seen.add(module.file)
        imports = _imports_without_words(module)
        if imports is None:
            return True
        pending += _imported_modules(project, module, imports)
    return project.overflowed


def _imports_without_words(module: Module) -> Imports | None:
    """Return what a module imports; ``None`` when it has one of the words, or cannot be read."""
    if module.source is not None:
        return _scanned(module.source.text)
    if module.is_namespace:
        return ()
    try:
        status = os.stat(module.file)
        return _scanned_file(module.file, status.st_mtime_ns, status.st_size)
    except OSError:
        return None


@lru_cache(maxsize=20_000)
def _scanned_file(file: str, _changed: int, _size: int) -> Imports | None:
    """Scan a file once, until it has changed."""
    with open(file, encoding="latin-1") as stream:  # whatever the encoding is: the words are ASCII
        return _scanned(stream.read(MAX_BYTES))


def _scanned(text: str) -> Imports | None:
    if WORDS.search(text):
        return None
    return tuple(dict.fromkeys(_imports(text)))


def _imports(text: str) -> Iterator[Imported]:
    for match in _IMPORT.finditer(text):
        if match["plain"] is not None:
            yield from (Imported(0, name) for name in _NAME.findall(match["plain"]))
        else:
            yield Imported(len(match["dots"]), match["module"], tuple(_NAME.findall(match["names"])))


def _imported_modules(project: Project, importer: Module, imports: Imports) -> Iterator[Module]:
    """Yield the project's modules that a module's imports run: packages, their submodules, and names that are such."""
    for imported in imports:
        name: str | None = imported.module
        if imported.level:
            name = project.absolute(importer, imported.level, imported.module or None)
        parts = (name or "").split(".")
        dotted = [".".join(parts[: end + 1]) for end in range(len(parts))]
        for candidate in (*dotted, *(f"{name}.{taken}" for taken in imported.names)):
            module = project.find(candidate) if name else None
            if module is not None:
                yield module

"""Which files the paths of a command line mean, and whether the one script among them may be run unasked."""

import os
from collections.abc import Iterable, Iterator, Mapping

from ddpdoctor.content import is_notebook, read_file
from ddpdoctor.named import NamedTuple
from ddpdoctor.status import MisuseError

STANDARD_INPUT = "-"
SUFFIXES = (".py", ".ipynb")
PASSED_OVER = frozenset(
    {"__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv"}
)
"""Folders that hold no code of the project's own, besides the hidden ones and virtual environments; a package of that
name does."""


class Chosen(NamedTuple):
    """The files to check, and the folders that were named (absolute, each once).

    ``only_read`` says why the files are only to be read: ``None`` for a single script.
    """

    files: tuple[str, ...]
    only_read: str | None
    folders: tuple[str, ...] = ()


def choose(paths: Iterable[str], directory: str, stdin_name: str | None = None) -> Chosen:
    """Return the files that paths mean, as seen from a working directory.

    ``stdin_name`` is the path that the standard input goes by, ``-`` without one. Raises MisuseError for a path that is
    not there, for a folder without Python, for ``-`` beside others, and for a name without ``-``.
    """
    given = tuple(paths)
    if STANDARD_INPUT in given:
        if len(set(given)) > 1:
            raise MisuseError("'-' (the standard input) cannot be checked together with other paths")
        name = os.path.abspath(os.path.join(directory, stdin_name or STANDARD_INPUT))
        return Chosen((name,), "the standard input is only read")
    if stdin_name is not None:
        raise MisuseError("--stdin-filename names what is on the standard input: it needs the path '-'")
    files: dict[str, None] = {}
    folders: dict[str, None] = {}
    for path in given:
        full = os.path.abspath(os.path.join(directory, path))
        _expect_reachable(full, path)
        if os.path.isdir(full):
            if not os.access(full, os.R_OK | os.X_OK):
                raise MisuseError(f"'{path}' cannot be read: permission denied")
            folders[full] = None
            found = tuple(python_files(full))
            if not found:
                raise MisuseError(f"there is no Python file in the folder '{path}'")
            files.update(dict.fromkeys(found))
        elif os.path.isfile(full):
            if not os.access(full, os.R_OK):
                raise MisuseError(f"'{path}' cannot be read: permission denied")
            _expect_python(full, path)
            files[full] = None
        else:
            raise MisuseError(_absent(path, full))
    return Chosen(tuple(files), _only_read(tuple(files), folders=bool(folders)), tuple(folders))


def _expect_reachable(full: str, path: str) -> None:
    try:
        os.stat(full)
    except PermissionError:
        raise MisuseError(f"'{path}' cannot be read: permission denied") from None
    except OSError:
        return  # what is wrong with it is said by its kind


def _expect_python(full: str, path: str) -> None:
    """Ask whether a file that was named can hold Python: a script needs no suffix, but has none of other languages'."""
    if full.endswith(SUFFIXES):
        return
    if full.lower().endswith(OTHER_SUFFIXES):
        raise MisuseError(f"'{path}' is no Python file: name a script, a notebook or a folder")
    try:
        head = read_file(full, FIRST_BYTES)
    except OSError:
        return  # what cannot be read is reported as such
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MisuseError(f"'{path}' is a binary file: name a script, a notebook or a folder")


FIRST_BYTES = 8_000
OTHER_SUFFIXES = (
    *(".yaml", ".yml", ".json", ".jsonl", ".toml", ".cfg", ".ini", ".conf", ".lock", ".csv", ".tsv", ".xml", ".html"),
    *(".md", ".rst", ".sh", ".bash", ".slurm", ".sbatch", ".c", ".cc", ".cpp", ".cu", ".h", ".js", ".ts", ".css"),
)
"""How files are called that hold something else, which Python may read without complaint (``lr: 0.1``)."""


def _absent(path: str, full: str) -> str:
    if os.path.exists(full):
        return f"'{path}' is not a file"
    return f"'{path}' is a link that leads nowhere" if os.path.islink(full) else f"there is no file '{path}'"


def _only_read(files: tuple[str, ...], *, folders: bool) -> str | None:
    if folders:
        return "a folder was named"
    if len(files) > 1:
        return "several files were named"
    if is_notebook(files[0]):
        return "a notebook is only read"
    return None


def python_files(folder: str) -> Iterator[str]:
    """Yield the Python files and notebooks of a folder, sorted; links to folders are not followed.

    What is no file though it is called like one is passed over: a pipe, a link that leads nowhere. A folder that cannot
    be read is yielded as if it were a file: the report then says so.
    """
    unreadable: list[str] = []
    for here, folders, files in os.walk(folder, onerror=lambda error: unreadable.append(error.filename)):
        folders[:] = sorted(name for name in folders if _is_project_folder(here, name))
        for name in sorted(files):
            file = os.path.join(here, name)
            if name.endswith(SUFFIXES) and not name.startswith(".") and os.path.isfile(file):
                yield file
    yield from unreadable


def _is_project_folder(parent: str, name: str) -> bool:
    folder = os.path.join(parent, name)
    if name in PASSED_OVER and not os.path.exists(os.path.join(folder, "__init__.py")):
        return False
    return not name.startswith(".") and not os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def forbidden_unasked(environment: Mapping[str, str]) -> str | None:
    """Return what in the environment forbids running a script that nobody asked to be run, or ``None``."""
    if environment.get("DDPDOCTOR_SOURCE_ONLY", "0") not in ("", "0"):
        return "DDPDOCTOR_SOURCE_ONLY is set: --run runs it all the same"
    if environment.get("PRE_COMMIT"):
        return "a pre-commit hook only reads: --run runs it all the same"
    return None


FILES_A_JOB = 250
"""Fewer are mostly read in less than a second, which a process that has to be started first hardly shortens."""
MOST_JOBS = 8
"""So many processes are started unasked, however many CPUs the machine has: a container may have fewer."""


def sensible_jobs(files: int) -> int:
    """Return how many processes are to read so many files, where nobody said it."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, MOST_JOBS, files // FILES_A_JOB))

"""Runs the user's script in this process as if it had been started by itself."""

import ast
import atexit
import builtins
import importlib.util
import os
import sys
import types

from ddpdoctor.harness.child.ending import Ending
from ddpdoctor.harness.child.failures import print_without_ours
from ddpdoctor.harness.child.install import install
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.own_streams import print_error
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.rounds import Stop
from ddpdoctor.named import NamedTuple


class Start(NamedTuple):
    """How a script is started: by its path, or as a module of the package it is in, from the folder around that."""

    folder: str  # what stands first on sys.path
    module: str | None


def run(folder: str) -> int:
    """Run the script of a run and return the exit status that it would have had."""
    observer = Observer(folder, rank=_launched_rank())
    ending = Ending(observer)
    atexit.register(ending.at_exit_of_interpreter)
    install(observer)
    try:
        _execute(observer)
    except Stop:
        ending.came("cut")
        return 0
    except SystemExit as leaving:
        if leaving.code is not None and not isinstance(leaving.code, int):
            print_error(f"{leaving.code}\n")
        return ending.left(leaving)
    except BaseException as error:
        ending.failed(error)
        _report(error)
        return 1
    ending.came("natural", 0)
    return 0


def _launched_rank() -> int | None:
    rank = os.environ.get("RANK", "")
    return int(rank) if rank.isdecimal() else None


def _report(error: BaseException) -> None:
    """Print an exception; through the script's own hook where it has set one."""
    if sys.excepthook is not sys.__excepthook__ and sys.excepthook.__module__ == "__main__":
        sys.excepthook(type(error), error, error.__traceback__)
    else:
        print_without_ours(error)


def _execute(observer: Observer) -> None:
    """Run the script as ``__main__``.

    Raises what the script raises.
    """
    plan = observer.plan
    with open(plan.script, "rb") as file:
        source = file.read()
    start = started(plan.script, source, plan.directory)
    rank = str(observer.recorder.rank or 0)
    sys.argv[:] = [
        _as_typed(plan.script, plan.directory, start),
        *(argument.replace("{local_rank}", rank) for argument in plan.arguments),
    ]
    if start.folder not in sys.path[:1]:
        sys.path.insert(0, start.folder)
    main = types.ModuleType("__main__")
    main.__file__ = plan.script
    vars(main)["__builtins__"] = builtins
    if start.module is not None:
        main.__spec__ = importlib.util.find_spec(start.module)
        main.__package__ = start.module.rpartition(".")[0]
    sys.modules["__main__"] = main
    code = through(observer.source.compiled, source, plan.script)
    through(exec, code, vars(main))


def _as_typed(script: str, directory: str, start: Start) -> str:
    """Return the path of a script as it is passed to torchrun in the working directory; to ``-m`` it is absolute."""
    inside = start.module is None and script.startswith(os.path.join(directory, ""))
    return os.path.relpath(script, directory) if inside else script


def started(script: str, source: bytes, directory: str) -> Start:
    """Return how a script has to be started: one with relative imports is a module of a package.

    The package reaches up as long as folders hold an ``__init__.py``, and at least as far as the imports do.
    """
    folder, name = os.path.split(script)
    levels = _relative_levels(source)
    if not levels:
        return Start(folder, None)
    parts = [os.path.splitext(name)[0]]
    while levels > 0 or os.path.isfile(os.path.join(folder, "__init__.py")):
        if os.path.dirname(folder) == folder:
            break
        if levels <= 0 and folder == directory:
            break
        folder, package = os.path.split(folder)
        parts.insert(0, package)
        levels -= 1
    return Start(folder, ".".join(parts))


def _relative_levels(source: bytes) -> int:
    """Return over how many packages the relative imports of a module reach; 0 when it has none."""
    if b"from ." not in source:
        return 0
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return 0
    return max((node.level for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)), default=0)

"""Observes the processes that the script starts, from inside: what they run, what they raise and how they end."""

import atexit
import builtins
import os
import sys
from collections.abc import Callable
from typing import Any

from ddpdoctor.events import MAIN
from ddpdoctor.harness.child.ending import Ending
from ddpdoctor.harness.child.frames import OURS
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.rounds import Stop
from ddpdoctor.harness.child.source_cut import ROUNDS
from ddpdoctor.named import NamedTuple


class Birth(NamedTuple):
    """What a started process is told of itself: the run's folder, its name in the trace, its rank as far as known."""

    folder: str
    process: str
    rank: int | None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        """Be unpickled by observing the process that does so.

        multiprocessing unpickles its preparation data before it runs the main module again, and before it has set
        ``sys.path``: hence the text of a program, which needs neither.
        """
        root = os.path.dirname(os.path.dirname(OURS))
        program = (
            f"import sys\n"
            f"if {root!r} not in sys.path: sys.path.append({root!r})\n"
            f"from ddpdoctor.harness.child.births import born\n"
            f"born({self.folder!r}, {self.process!r}, {self.rank!r})\n"
        )
        return builtins.exec, (program,)


def born(folder: str, process: str, rank: int | None) -> None:
    """Observe the started process that this is called in."""
    if hasattr(builtins, ROUNDS):
        return  # it was forked from an observed process, or is prepared a second time
    from ddpdoctor.harness.child.install import install

    install(Observer(folder, process, rank))


def bootstrap(
    observer: Observer, original: Callable[..., Any], birth: Callable[[], Birth | None]
) -> Callable[..., Any]:
    """Return what replaces ``BaseProcess._bootstrap``, which runs a started process.

    ``birth`` tells which birth was under way when this process was forked, if it was forked.
    """

    def _bootstrap(process: Any, *args: Any, **kwargs: Any) -> Any:
        if observer.pulse.pid != os.getpid():
            told = birth()
            if told is None:  # started by a library, for itself
                observer.recorder.muted = True
                return through(original, process, *args, **kwargs)
            observer.recorder.process, observer.recorder.rank = told.process, told.rank
            observer.done = False
            observer.pulse.start()
        elif observer.recorder.process == MAIN:
            return through(original, process, *args, **kwargs)
        return _run(observer, original, process, *args, **kwargs)

    return _bootstrap


def _run(observer: Observer, original: Callable[..., Any], process: Any, *args: Any, **kwargs: Any) -> Any:
    observer.doing = "running the script"
    observer.frames.bottom = sys._getframe()
    ending = Ending(observer)
    process.run = _Watched(observer, ending, process.run)
    _watch_spawned_function(observer, process)
    spawned = getattr(process, "_start_method", None) == "spawn" or ends_as_an_interpreter()
    observer.runs_exit_functions = spawned
    if spawned:
        atexit.register(ending.at_exit_of_interpreter)
    try:
        return through(original, process, *args, **kwargs)
    finally:
        if not spawned:  # it leaves by os._exit
            ending.at_exit()


def ends_as_an_interpreter() -> bool:
    """Whether this started process was given an interpreter of its own, which runs the functions for its exit."""
    import multiprocessing

    return multiprocessing.get_start_method(allow_none=True) == "spawn"


class _Watched:
    """What a process runs, its end and its exceptions written down."""

    def __init__(self, observer: Observer, ending: Ending, function: Callable[..., Any]) -> None:
        self._observer = observer
        self._ending = ending
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result = through(self._function, *args, **kwargs)
        except Stop:
            self._ending.came("cut", 0)
            return None
        except SystemExit as leaving:
            self._ending.left(leaving)
            raise
        except BaseException as error:
            self._ending.failed(error)
            raise
        self._ending.came("natural", 0)
        return result


class _Noted:
    """A function given to ``torch.multiprocessing.spawn``, which keeps the function's exceptions to itself."""

    def __init__(self, observer: Observer, function: Callable[..., Any]) -> None:
        self._observer = observer
        self._function = function

    def __call__(self, *args: Any) -> Any:
        try:
            return through(self._function, *args)
        except Exception as error:
            self._observer.leaves(error)
            raise


def _watch_spawned_function(observer: Observer, process: Any) -> None:
    """Replace the user's function among the arguments of torch's ``_wrap(function, index, arguments, error_file)``."""
    target, arguments = getattr(process, "_target", None), getattr(process, "_args", ())
    if getattr(target, "__module__", "") != "torch.multiprocessing.spawn" or not arguments:
        return
    if callable(arguments[0]):
        process._args = (_Noted(observer, arguments[0]), *arguments[1:])
    if len(arguments) > 1 and isinstance(arguments[1], int):
        observer.recorder.rank = arguments[1]

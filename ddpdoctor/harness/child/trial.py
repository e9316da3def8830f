"""Tries out what an exception at a training step would lead to, in a copy of the process that nobody else sees."""

import os
import signal
import sys
import threading
from typing import Any, NoReturn

from ddpdoctor.events import Trial as TrialEvent
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.own_streams import flush, open_file

SECONDS = 4
"""How long the copy has to unwind; the other ranks wait for as long."""

WHAT = "exception-at-step"
MESSAGE = "an exception that ddpdoctor raises at a training step, in a copy of the process, to see what it leads to"

COLLECTIVES = (
    "broadcast",
    "allreduce",
    "allreduce_coalesced",
    "reduce",
    "allgather",
    "_allgather_base",
    "all_gather_single",
    "allgather_into_tensor_coalesced",
    "gather",
    "scatter",
    "reduce_scatter",
    "_reduce_scatter_base",
    "reduce_scatter_single",
    "alltoall",
    "alltoall_base",
    "all_to_all_single",
    "send",
    "recv",
    "barrier",
    "monitored_barrier",
)
"""The methods of a process group that do nothing in the copy: its threads are not there, its sockets are shared."""


def at_step(observer: Observer) -> None:
    """Copy this process and raise an exception in the copy; write what it led to.

    Returns in the process itself only; in the copy it raises RuntimeError.
    """
    if observer.tried:
        return
    observer.tried = True
    why = _unsafe(observer)
    if why is not None:
        observer.recorder.cut("what an exception would lead to", why)
        return
    flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        observer.trial = Trial(observer, writing)
        raise RuntimeError(MESSAGE)
    os.close(writing)
    with open_file(reading, encoding="ascii") as told:
        result = told.read()  # empty when the copy was ended by its alarm
    os.waitpid(pid, 0)
    if result == "went on":
        observer.recorder.cut("what an exception would lead to", "the script catches it and goes on")
    elif result:
        observer.recorder.write(TrialEvent, what=WHAT, destroyed="destroyed" in result, finished=True)
    else:
        observer.recorder.write(TrialEvent, what=WHAT, destroyed=False, finished=False)


def _unsafe(observer: Observer) -> str | None:
    """Return why this process cannot be copied; ``None`` when it can."""
    if not hasattr(os, "fork"):
        return "this system copies no processes"
    own = {threading.main_thread(), observer.pulse.thread}
    others = [thread for thread in threading.enumerate() if thread not in own]
    if others:
        return f"the script runs threads of its own ({others[0].name})"
    if threading.current_thread() is not threading.main_thread():
        return "the step is not taken by the main thread"
    return None


class Trial:
    """What the copy of a process finds out. It touches neither the record nor the files, nor the other ranks."""

    def __init__(self, observer: Observer, pipe: int) -> None:
        self._pipe = pipe
        self._destroyed = False
        self._runs_exit_functions = observer.runs_exit_functions
        observer.recorder.muted = True
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        _silence(sys.modules["torch"])

    def destroyed(self, *, whole: bool) -> None:
        """Take note that the script destroys a process group."""
        self._destroyed = self._destroyed or whole

    def went_on(self) -> NoReturn:
        """End the copy: the script has caught the exception and trains on."""
        self._end("went on")

    def left(self) -> NoReturn:
        """End the copy: the exception has left the user's code. What the script registered for its exit still runs."""
        from multiprocessing import process

        vars(process)["_children"].clear()  # they are children of the process itself: not to be ended from here
        import atexit

        run: Any = getattr(atexit, "_run_exitfuncs", None)
        if run is not None and self._runs_exit_functions:
            run()
        self._end("destroyed" if self._destroyed else "left")

    def _end(self, result: str) -> NoReturn:
        os.write(self._pipe, result.encode("ascii"))
        os._exit(0)


class _Done:
    """The work of a collective that nobody issued."""

    def wait(self, *args: Any) -> bool:
        """Return at once."""
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return True

    def is_success(self) -> bool:
        """Whether it went well."""
        return True


def _silence(torch: Any) -> None:
    """Have the collectives do nothing, and torch use one thread: the others were not copied."""
    torch.set_num_threads(1)
    for kind in {torch.distributed.ProcessGroup, type(torch.distributed.group.WORLD)}:
        for name in COLLECTIVES:
            if hasattr(kind, name):
                setattr(kind, name, lambda *args, **kwargs: _Done())

"""Forks a process that prepares itself, says that it is ready, and does not outlive its parent."""

import os
import signal
import sys
from collections.abc import Callable

_READY = b"ready"


class Answer:
    """The end of a pipe by which a forked process tells, once, that it is ready or why it cannot be."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._open = True

    def ready(self) -> None:
        """Say that the process is ready; raises BrokenPipeError when whoever waited is no more."""
        os.write(self._descriptor, _READY)
        self.close()

    def refuse(self, reason: str) -> None:
        """Say why the process cannot be, unless it said that it is ready."""
        if self._open:
            os.write(self._descriptor, reason.encode(errors="replace"))
            self.close()

    def close(self) -> None:
        """Say nothing more."""
        self._open = False
        os.close(self._descriptor)


def fork_until_ready(work: Callable[[Answer], None]) -> None:
    """Fork a child that does ``work``, and return when it, or a child of its own, answers that it is ready.

    Raises OSError with the child's reason when it does not.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        run_and_exit(work, Answer(writing))
    os.close(writing)
    said = b""
    # What the run starts holds the pipe open too: its end is not waited for once there is an answer.
    while said != _READY:
        part = os.read(reading, 4096)
        if not part:
            os.close(reading)
            raise OSError(0, said.decode(errors="replace") or "the process died while it was prepared")
        said += part
    os.close(reading)


def run_and_exit(work: Callable[[Answer], None], answer: Answer) -> None:
    """Do the work of a forked process, and end the process, whatever happens."""
    status = 1
    try:
        tie_to_parent()
        work(answer)
        status = 0
    except OSError as error:
        answer.refuse(f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else ""))
    except BaseException as error:  # a forked child must never return into its parent's program
        answer.refuse(f"{type(error).__name__}: {error}")
    finally:
        os._exit(status)


def tie_to_parent() -> None:
    """See to it that this process is killed when the one that forked it ends (Linux).

    One that ended before this call is noticed when the answer that it waited for cannot be written.
    """
    if sys.platform == "linux":
        from ddpdoctor.harness.contain import kernel

        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)

"""Starts the observed processes of a run from inside its containment, and tells when each of them ends."""

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from ddpdoctor.harness.contain.forking import tie_to_parent
from ddpdoctor.harness.run_folder import output_path
from ddpdoctor.named import NamedTuple

CANNOT_START = 127
"""The exit status of a process that could not be started, as a shell has it."""


class Command(NamedTuple):
    """A program with its arguments and its whole environment."""

    arguments: Sequence[str]
    environment: Mapping[str, str]


def serve(folder: str, commands: Sequence[Command], directory: str, tell: Callable[[dict[str, int]], None]) -> None:
    """Start the commands and stay until no process of theirs is left.

    ``tell`` is called with ``ended``, the number of a command, its ``pid`` and its wait ``status`` when it has ended.
    """
    numbers = {_start(folder, number, command, directory): number for number, command in enumerate(commands)}
    while True:
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            break  # on Linux those whose parents ended before them were this process's children too
        if pid in numbers:
            tell({"ended": numbers[pid], "pid": pid, "status": status})
            if sys.platform != "linux":
                _kill_group(pid)


def _start(folder: str, number: int, command: Command, directory: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(output_path(folder, number), command, directory)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
    finally:
        os._exit(CANNOT_START)


def _become(output: str, command: Command, directory: str) -> None:
    tie_to_parent()
    os.setsid()
    empty = os.open(os.devnull, os.O_RDONLY)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(empty, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.closerange(3, 256)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # A limit of one byte, not of none, also keeps the kernel from handing the core to a program outside (core(5)).
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    os.chdir(directory)
    os.execve(command.arguments[0], list(command.arguments), dict(command.environment))


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):  # nobody is left in it
        os.killpg(pid, signal.SIGKILL)

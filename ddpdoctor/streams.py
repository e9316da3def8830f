"""Uses the standard streams, whatever they are: closed, a pipe that nobody reads, or not Unicode."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ddpdoctor.status import MisuseError


class OutputError(OSError):
    """The output cannot be written; the message is one line."""


def open_missing() -> None:
    """Give the standard descriptors that are closed to the null device.

    Otherwise the next file that is opened becomes the standard output of every process that is started.
    """
    try:
        while (descriptor := os.open(os.devnull, os.O_RDWR)) < 3:  # it takes the lowest free number
            pass
        os.close(descriptor)
    except OSError:
        return


def read() -> bytes:
    """Return all of the standard input.

    Raises MisuseError when there is none.
    """
    if sys.stdin is None:
        raise MisuseError("the standard input is closed")
    return sys.stdin.buffer.read()


def say(line: str, *, after_echo: bool = False) -> None:
    """Write one line to the standard error, if there is one.

    ``after_echo`` says that a terminal has just shown the ``^C`` of an interrupt.
    """
    start = "\n" if after_echo and sys.stderr is not None and sys.stderr.isatty() else ""
    say_lines(f"{start}ddpdoctor: {' '.join(line.split())}\n")


def say_lines(text: str) -> None:
    """Write to the standard error, if there is one."""
    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        _silence(2)


def expect_writable(file: str, option: str) -> None:
    """Ask whether the file that an option names can be written, before any work is done for it.

    Raises MisuseError.
    """
    if not file or file == "-":
        instead = "; without it the report goes to the standard output" if option == "--output" else ""
        raise MisuseError(f"{option} needs the name of a file{instead}")
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        raise MisuseError(f"{option}: there is no folder '{folder}'")
    if os.path.isdir(file):
        raise MisuseError(f"{option}: '{file}' is a folder")
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise MisuseError(f"{option}: '{file}' cannot be written: permission denied")


def deliver(text: str, file: str | None) -> None:
    """Write to a file, or to the standard output where none is given.

    Raises OutputError.
    """
    if file is None:
        write(text)
        return
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise OutputError(f"'{file}' cannot be written: {error.strerror}") from error


def write(text: str) -> None:
    """Write to the standard output; what its encoding does not have is escaped, and a reader that left is no fault.

    Raises OutputError.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("the standard output is closed")
    encoding = stream.encoding or "utf-8"
    with writing():
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


@contextmanager
def writing() -> Iterator[None]:
    """Take it for no fault when nobody reads the standard output.

    Raises OutputError when it cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        _silence(1)
    except OSError as error:
        _silence(1)
        raise OutputError(f"the standard output cannot be written: {error.strerror}") from error


def _silence(descriptor: int) -> None:
    """Let nothing that is still buffered be complained about at exit."""
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), descriptor)

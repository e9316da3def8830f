"""What the bytes of a user's file are: a notebook or a script, its text in its encoding, its lines."""

import errno
import io
import os
import re
import stat

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#|\r|$)")


def is_notebook(file: str) -> bool:
    """Whether a path names a Jupyter notebook."""
    return file.endswith(".ipynb")


def holds_notebook(content: bytes) -> bool:
    """Whether what came without a name is a notebook: a JSON object that has cells, which is no script of anyone's."""
    if not content.lstrip().startswith(b"{") or b'"cells"' not in content:
        return False
    import json  # only here: no script needs it

    try:
        return isinstance(json.loads(content)["cells"], list)
    except (ValueError, KeyError, RecursionError):
        return False


def read_file(file: str, most: int) -> bytes:
    """Return the first bytes of a file: one more than ``most``, where there are as many.

    Raises OSError when it cannot be read, and for what is no file: a pipe would be waited for, a device has no end.
    """
    with open(os.open(file, os.O_RDONLY | NOT_WAITING), "rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file", file)
        return stream.read(most + 1)


NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe is opened without a writer (POSIX); line ends stay as they are (Windows)."""


def decode(content: bytes) -> tuple[str, str | None]:
    """Return the text, and what is wrong with its encoding if anything is (then undecodable bytes are replaced)."""
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    declared = _declared_encoding(content)
    try:
        return content.decode(declared), None
    except UnicodeDecodeError as error:
        problem = f"it is not valid {declared}: {error.reason}"
    except LookupError:
        problem = f"its coding line names an unknown encoding: {declared}"
    except Exception as error:  # "undefined", "idna" and the like refuse in ways of their own
        problem = f"its coding line names an encoding that cannot be read: {declared} ({error})"
    try:
        return content.decode(declared, "replace"), problem
    except Exception:  # neither do they all replace
        return content.decode("utf-8", "replace"), problem


def _declared_encoding(content: bytes) -> str:
    """Return the encoding that a comment in one of the first two lines names (PEP 263); UTF-8 without one."""
    for line in content.split(b"\n", 2)[:2]:
        match = _CODING.match(line)
        if match:
            return match.group(1).decode("ascii", "replace")
        if not _BLANK.match(line):
            break
    return "utf-8"


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends, as Python counts them: a form feed ends none."""
    return io.StringIO(text, newline=None).read().split("\n")

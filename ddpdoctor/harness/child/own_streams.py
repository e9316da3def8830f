"""Opens files and prints as before the script ran, which may have closed its streams or replaced ``open``."""

import contextlib
import sys
from io import open as open_file

__all__ = ["flush", "open_file", "print_error"]


def flush() -> None:
    """Flush what the script printed, where its streams are still there."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
            stream.flush()


def print_error(text: str) -> None:
    """Print a text on standard error, where that is still there."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        sys.stderr.write(text)

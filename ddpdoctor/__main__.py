"""The process that ``ddpdoctor`` and ``python -m ddpdoctor`` start."""

import atexit
import os
import sys

from ddpdoctor.garbage import garbage_left_lying


def main() -> int:
    """Run the command that the process was started with; return the exit status where the process is not over yet.

    Nobody looks for garbage from before the imports to the end of the process: it took a tenth of the time of a check.
    """
    with garbage_left_lying():
        from ddpdoctor.plain import main as run

        status = run()
    if nothing_is_left():
        os._exit(status)  # taking every object apart took a twentieth of the time of a check
    return status


def nothing_is_left() -> bool:
    """Whether the process can end as it stands: all output is written, no thread or exit handler waits for its turn."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    threading = sys.modules.get("threading")  # who has not imported it has started none
    return (threading is None or threading.active_count() == 1) and atexit._ncallbacks() == 0


if __name__ == "__main__":
    sys.exit(main())

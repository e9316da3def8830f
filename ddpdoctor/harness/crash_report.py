"""Reads what Python's faulthandler prints when a process dies by a signal: where each thread was."""

import re

from ddpdoctor.place import Place

_FATAL = "Fatal Python error: "
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):$")
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ')


def last_stack(output: str, root: str) -> tuple[Place, ...]:
    """Return where the user's code was when a process died, outermost call first; empty when that is not told.

    ``output`` is what the process printed and ``root`` the project's folder. The frames are those of the thread that
    died, or of the first other one that was in the user's code: a backward pass has threads of its own.
    """
    _, fatal, told = output.rpartition(_FATAL)
    if not fatal:
        return ()
    threads: list[list[Place]] = []
    for line in told.splitlines():
        if _THREAD.match(line):
            threads.append([])
        frame = _FRAME.match(line)
        if (
            frame
            and threads
            and frame["file"].startswith(root.rstrip("/") + "/")
            and "site-packages" not in frame["file"]
        ):
            threads[-1].append(Place(frame["file"], int(frame["line"])))
    return next((tuple(reversed(frames)) for frames in threads if frames), ())

"""The parent's end of the guardian: starts it, hears its reports, and sees it off."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from typing import Any

from ddpdoctor.harness.guard import Order

PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder from which ddpdoctor is imported: the guardian and the children import it from the same."""

START = "import sys; sys.path.append(sys.argv[1]); from ddpdoctor.harness.guard import main; main()"

CLOSE_SECONDS = 8.0
"""The guardian gives up on processes that do not die after five seconds; then it has its folder to remove."""


class Guardian:
    """A guardian process with the run that it guards; a context that leaves no process and no folder behind."""

    def __init__(self, order: Order) -> None:
        self._folder = order.folder
        # -I -S: no user's site, no environment variable of Python's and no working directory has a say in it.
        flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-c", START, PACKAGE_ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the parent alone, which then ends this in order
        )
        self._unread = b""
        self._early: list[dict[str, Any]] = []
        self._say(json.dumps(order._asdict()).encode() + b"\n")

    def __enter__(self) -> "Guardian":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The guardian's process number: all processes of the run descend from it."""
        return self._process.pid

    def contained(self, timeout: float) -> dict[str, Any]:
        """Wait for the report that the run is contained, or why it cannot be, and return it.

        Raises RuntimeError when none came within ``timeout`` seconds, or the guardian ended.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self._early += self._heard(deadline - time.monotonic())
            for report in self._early:
                if "contained" in report or "refused" in report:
                    self._early.remove(report)  # others are of processes that ended at once
                    return report
        raise RuntimeError(f"the run was not contained within {timeout:.0f} s")

    def reports(self, timeout: float) -> list[dict[str, Any]]:
        """Return the reports that came, after waiting for one for at most ``timeout`` seconds.

        Raises RuntimeError when the guardian ended, which it does not by itself.
        """
        early, self._early = self._early, []
        return early or self._heard(timeout)

    def _heard(self, timeout: float) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], timeout)[0]:
            return []
        said = os.read(self._process.stdout.fileno(), 1 << 16)
        if not said:
            raise RuntimeError(f"the guardian of the run ended: {self._last_words()}")
        *lines, self._unread = (self._unread + said).split(b"\n")
        return [json.loads(line) for line in lines]

    def stop(self) -> None:
        """Have every process of the run ended; the report ``over`` follows. The run's folder stays."""
        self._say(b"stop\n")

    def close(self) -> None:
        """End the run, have its folder removed, and wait until that is done."""
        assert self._process.stdin and self._process.stdout and self._process.stderr
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()
            self._process.stderr.close()
            self._remove_folder()

    def _last_words(self) -> str:
        assert self._process.stderr is not None
        lines = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it was killed"

    def _remove_folder(self) -> None:
        """Remove what a guardian that was killed itself left."""
        if os.path.lexists(self._folder):
            from ddpdoctor.harness.contain.removal import remove

            remove(self._folder)

    def _say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended: the next reports() tells
            self._process.stdin.write(line)
            self._process.stdin.flush()

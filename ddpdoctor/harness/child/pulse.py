"""The thread that says four times a second what its process is at."""

import os
import threading
import time
from collections.abc import Callable

from ddpdoctor.harness.run_folder import Status, write_status

BEATS_A_SECOND = 4


class Pulse:
    """Writes the status of this process until it is stopped; it is to be stopped before the interpreter ends.

    A daemon thread that wakes up while the interpreter is being torn down aborts the process.
    """

    def __init__(self, folder: str, status: Callable[[], Status], also: Callable[[], None]) -> None:
        self._folder = folder
        self._status = status
        self._also = also
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.pid = 0  # of the process that it was started in

    @property
    def thread(self) -> threading.Thread | None:
        """The thread, while it runs."""
        return self._thread

    def start(self) -> None:
        """Start the thread: in a new process too, where a fork has left the old one behind."""
        self.pid = os.getpid()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(self._over,), name="ddpdoctor", daemon=True)
        self._thread.start()

    def _beat(self, over: threading.Event) -> None:
        while not over.wait(1 / BEATS_A_SECOND):
            self.once()
            self._also()

    def once(self) -> None:
        """Write the status now."""
        try:
            write_status(self._folder, self._status())
        except (OSError, RuntimeError, ValueError):  # the run's folder is gone, or a frame changed while it was read
            return

    def stop(self) -> None:
        """Write the last status and end the thread."""
        self._over.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        self._thread = None
        self.once()


def cpu_seconds() -> float:
    """Return the CPU seconds that this process has used."""
    return time.process_time()

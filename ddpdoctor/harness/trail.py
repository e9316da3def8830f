"""What one process of a run has left so far: its events, its last status, and when it last did anything."""

import array
import os
import sys
from collections.abc import Iterator

from ddpdoctor import codec
from ddpdoctor.events import Collective, Ended, EpochBegun, Event, Raised
from ddpdoctor.harness.processes import Usage
from ddpdoctor.harness.run_folder import Status, events_path, indices_path
from ddpdoctor.harness.translation import Translation

BUSY_SHARE = 0.1
"""A process whose threads want more than this share of a CPU computes. Threads that wake by the clock are left out (the
one that writes the status, and :data:`POLLING_THREADS`): on a busy machine they wait for a CPU each time, which counts
as wanting one; with eleven process groups on twelve times as many processes as cores that came to 0.2 to 1.5 CPUs."""

POLLING_THREADS = frozenset({"gloo_tcp_loop"})
"""Threads that wake a hundred times a second while a rank waits: gloo's, one a process group (torch 2.14)."""

BUSY_BYTES = 1 << 18
"""A process that reads or writes more bytes a second than this is loading something; its status is a kilobyte."""

WINDOW_SECONDS = 1.0
"""Over how long the use of a CPU is averaged: the kernel counts in hundredths of a second."""

STALE_SECONDS = 2.0
"""A status that was not renewed for so long comes from a process whose interpreter is held by a call."""


class Trail:
    """One process, by the number that it knows itself by."""

    def __init__(self, folder: str, pid: int, now: float) -> None:
        self.pid = pid
        self.rank: int | None = None
        self.events: list[Event] = []
        self.status: Status | None = None
        self.ended: Ended | None = None
        self.raised: Raised | None = None
        self.alive = True
        self._folder = folder
        self._path = events_path(folder, pid)
        self._offset = 0
        self._by_order: dict[int, int] = {}
        self._active = now
        self._measured: tuple[float, Usage] | None = None

    @property
    def over(self) -> bool:
        """Whether the user's code in this process has ended."""
        return self.ended is not None or not self.alive or bool(self.status and self.status.done)

    def still(self, now: float) -> float:
        """Return the seconds for which the process has done nothing that can be seen."""
        return now - self._active

    def read_events(self, translation: Translation, now: float) -> None:
        """Take the events that were written since the last time.

        An event with the order of an earlier one says more of the same and takes its place.
        """
        try:
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                said = file.read()
        except OSError:
            return
        whole = said[: said.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("utf-8", errors="replace").splitlines():
            try:
                event = codec.loads(translation.encoded(line))
            except ValueError:
                continue  # cut off when its process was killed
            self._take(self._with_indices(event))
            self._active = now

    def take_status(self, status: Status, now: float) -> None:
        """Take a status that the process wrote."""
        before = self.status
        if before is None or (before.collectives, before.inside, before.doing) != (
            status.collectives,
            status.inside,
            status.doing,
        ):
            self._active = now
        self.status = status
        if status.rank is not None:
            self.rank = status.rank

    def take_usage(self, usage: Usage, now: float) -> None:
        """Take what the operating system says that the process uses."""
        if self._measured is None:
            self._measured = now, usage
            return
        since, before = self._measured
        seconds = now - since
        writer = self.status.writer if self.status else 0
        threads = [thread for thread in usage.threads if thread.inner != writer and thread.name not in POLLING_THREADS]
        if any(thread.active for thread in threads):
            self._active = now
        if seconds >= WINDOW_SECONDS:
            spent = {thread.inner: thread.cpu for thread in before.threads}
            used = sum(thread.cpu - spent.get(thread.inner, 0.0) for thread in threads)
            if used > BUSY_SHARE * seconds or usage.transferred - before.transferred > BUSY_BYTES * seconds:
                self._active = now
            self._measured = now, usage

    def inside(self, elapsed: float) -> Collective | None:
        """Return the collective that the process waits in, ``elapsed`` seconds after the run began."""
        if self.status is None or self.over:
            return None
        if self.status.inside is not None:
            event = self._event(self.status.inside)
            return event if isinstance(event, Collective) else None
        last = self.events[-1] if self.events else None
        if isinstance(last, Collective) and elapsed - self.status.time > STALE_SECONDS:
            return last  # the call does not let other threads run, the one that writes the status among them
        return None

    def _event(self, order: int) -> Event | None:
        written = self._by_order.get(order)
        return None if written is None else self.events[written]

    def collectives(self) -> Iterator[Collective]:
        """Yield the collectives issued so far, the last first."""
        return (event for event in reversed(self.events) if isinstance(event, Collective))

    def _take(self, event: Event) -> None:
        written = self._by_order.get(event.order)
        if written is None:
            self._by_order[event.order] = len(self.events)
            self.events.append(event)
        else:
            self.events[written] = event.with_(time=self.events[written].time)
        if event.rank is not None:
            self.rank = event.rank
        if isinstance(event, Ended):
            self.ended = event
        elif isinstance(event, Raised) and self.raised is None:
            self.raised = event

    def _with_indices(self, event: Event) -> Event:
        if not isinstance(event, EpochBegun) or event.indices is not None:
            return event
        path = indices_path(self._folder, self.pid, event.order)
        numbers = array.array("q")
        try:
            with open(path, "rb") as file:
                numbers.fromfile(file, os.fstat(file.fileno()).st_size // numbers.itemsize)
        except OSError:
            return event
        if sys.byteorder == "big":
            numbers.byteswap()
        return event.with_(indices=numbers)

"""Watches the processes of a run: what each has left so far, and which of them still exist."""

import os
from collections.abc import Iterable, Iterator

from ddpdoctor.events import Event
from ddpdoctor.harness.hang import RankView
from ddpdoctor.harness.processes import Census, Usage, descendants
from ddpdoctor.harness.run_folder import read_statuses
from ddpdoctor.harness.trail import Trail
from ddpdoctor.harness.translation import Translation

FIRST_PROCESS = 1
"""In a namespace of its own, the process of ours that starts the others."""


class Watch:
    """The processes of one run, all of which descend from its guardian.

    ``memory`` is what they hold together, in bytes; ``needed`` what the ranks said that they expect to need.
    """

    def __init__(self, folder: str, guardian: int, began: float, translation: Translation, *, namespaced: bool) -> None:
        self.trails: dict[int, Trail] = {}
        self.memory = 0
        self._folder = folder
        self._guardian = guardian
        self.began = began
        self._translation = translation
        self._namespaced = namespaced
        self._census = Census()
        own = next(self._census.usages([os.getpid()]))
        self._least_depth = own.depth + namespaced
        self._strangers: dict[int, Trail] = {}

    def look(self, now: float) -> None:
        """Take what is new; ``now`` is ``time.monotonic()``."""
        for name in os.listdir(os.path.join(self._folder, "events")):
            stem, _, suffix = name.partition(".")
            if suffix == "jsonl" and stem.isdecimal():
                self._trail(int(stem), now).read_events(self._translation, now)
        for status in read_statuses(self._folder):
            frames = tuple((self._translation.text(path), line) for path, line in status.stack)
            self._trail(status.pid, now).take_status(status._replace(stack=frames), now)

    def measure(self, now: float) -> None:
        """Ask the operating system what the processes use."""
        measured = {usage.inner: usage for usage in self._usages()}
        self.memory = sum(usage.memory for usage in measured.values())
        for pid, trail in self.trails.items():
            trail.alive = pid in measured
            if trail.alive:
                trail.take_usage(measured[pid], now)
        strangers = measured.keys() - self.trails.keys()
        self._strangers = {pid: self._strangers.get(pid) or Trail(self._folder, pid, now) for pid in strangers}
        for pid, stranger in self._strangers.items():
            stranger.take_usage(measured[pid], now)

    def views(self, now: float) -> list[RankView]:
        """Return what is known of each rank that has shown itself."""
        elapsed = now - self.began
        return [
            RankView(
                rank=rank,
                ended=trail.over,
                inside=trail.inside(elapsed),
                still=trail.still(now),
                issued=tuple(trail.collectives())[::-1],
            )
            for rank, trail in self.ranks()
        ]

    def others_still(self, now: float) -> float:
        """Return for how long the processes that are no ranks have done nothing."""
        trails: Iterable[Trail] = (trail for trail in self.trails.values() if trail.rank is None and not trail.over)
        return min((trail.still(now) for trail in (*trails, *self._strangers.values())), default=float("inf"))

    def all_said_their_end(self) -> bool:
        """Whether every process of the run has written its end, and only has the interpreter's clearing up before it.

        False where it cannot be told whether there are processes that have said nothing yet.
        """
        silent = self._strangers.keys() - {FIRST_PROCESS}
        return self._namespaced and not silent and all(trail.ended for trail in self.trails.values())

    def ranks(self) -> Iterator[tuple[int, Trail]]:
        """Yield the ranks with their processes, the last one that took a rank's number."""
        by_rank = {trail.rank: trail for trail in self.trails.values() if trail.rank is not None}
        yield from sorted(by_rank.items())

    def events(self) -> list[Event]:
        """Return the events of all processes in the order of time, each with its process's rank."""
        found: list[Event] = []
        for trail in self.trails.values():
            rank = trail.rank
            found += (
                event if event.rank is not None or rank is None else event.with_(rank=rank) for event in trail.events
            )
        found.sort(key=lambda event: event.time)
        return found

    @property
    def needed(self) -> int:
        """What the ranks expect to need together, in bytes."""
        return sum(trail.status.need for trail in self.trails.values() if trail.status)

    def _trail(self, pid: int, now: float) -> Trail:
        if pid not in self.trails:
            self.trails[pid] = Trail(self._folder, pid, now)
        return self.trails[pid]

    def _usages(self) -> Iterator[Usage]:
        for usage in self._census.usages(descendants(self._guardian)):
            if usage.depth >= self._least_depth:
                yield usage

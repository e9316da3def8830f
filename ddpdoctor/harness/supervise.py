"""Watches a run until it ends, or ends it: when it hangs, when a rank has failed, when time or memory is up."""

import os
import time
from collections.abc import Callable

from ddpdoctor.harness import memory
from ddpdoctor.harness.guard import SHUTDOWN_SECONDS
from ddpdoctor.harness.guardian import Guardian
from ddpdoctor.harness.hang import deadlocked
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.watch import Watch
from ddpdoctor.named import NamedTuple

LOOK_SECONDS = 0.1
MEASURE_SECONDS = 0.25
PROGRESS_SECONDS = 0.5

GRACE_SECONDS = 2.0
"""When a rank has failed the others get so long to end by themselves: what they say then is of use, but not first."""

STRAGGLER_SECONDS = 2.0
"""When every rank has ended, what else the script had started gets so long."""


class Ending(NamedTuple):
    """How a run ended: ``finished``, ``hang``, ``failed`` (a rank; the rest was cut), ``timeout`` or ``memory``.

    ``at`` is the moment, in seconds since the run began, ``statuses`` the wait statuses of the processes that the
    parent had started and that ended by themselves, by their numbers, ``pids`` what these processes call themselves,
    and ``why`` says more where there is more to say.
    """

    how: str
    at: float
    statuses: dict[int, int]
    pids: dict[int, int]
    why: str = ""


class Supervisor:
    """One run under supervision."""

    def __init__(self, plan: Plan, guardian: Guardian, watch: Watch, began: float, *, native: bool) -> None:
        self._plan = plan
        self._guardian = guardian
        self._watch = watch
        self._began = began
        self._native = native
        self._statuses: dict[int, int] = {}
        self._pids: dict[int, int] = {}
        self._over = False
        self._used = 0
        self._failed_at: float | None = None
        self._ended_at: float | None = None

    def run(self, progress: Callable[[str], None]) -> Ending:
        """Return how the run ended, once no process of it is left."""
        ending = self._until_end(progress)
        self._guardian.stop()
        deadline = time.monotonic() + SHUTDOWN_SECONDS + 1
        while not self._over and time.monotonic() < deadline:
            self._hear(LOOK_SECONDS)
        self._watch.look(time.monotonic())
        return ending

    def _until_end(self, progress: Callable[[str], None]) -> Ending:
        measured = told = 0.0
        while True:
            self._hear(LOOK_SECONDS)
            now = time.monotonic()
            self._watch.look(now)
            if self._over:
                return self._ending("finished")
            if now - measured >= MEASURE_SECONDS:
                measured = now
                self._watch.measure(now)
                short = self._short_of_memory()
                if short:
                    return self._ending("memory", short)
            ending = self._reason_to_end(now)
            if ending:
                return ending
            if now - told >= PROGRESS_SECONDS:
                told = now
                progress(self._words(now))

    def _reason_to_end(self, now: float) -> Ending | None:
        if self._a_rank_failed():
            self._failed_at = self._failed_at or now
            return self._ending("failed") if now - self._failed_at >= GRACE_SECONDS else None
        if self._all_is_said(now):
            return self._ending("finished")
        if self._every_rank_ended():
            self._ended_at = self._ended_at or now
            return self._ending("finished") if now - self._ended_at >= STRAGGLER_SECONDS else None
        self._ended_at = None
        views = self._watch.views(now)
        if deadlocked(views, others_still=self._watch.others_still(now), native=self._native):
            return self._ending("hang")
        if now - self._began >= self._plan.timeout:
            return self._ending("timeout")
        return None

    def _a_rank_failed(self) -> bool:
        """Whether a process of the run ended by an exception, a signal or a status other than 0."""
        if any(self._statuses.values()):
            return True
        return any(trail.raised or (trail.ended and trail.ended.status) for trail in self._watch.trails.values())

    def _all_is_said(self, now: float) -> bool:
        """Whether what is left of the run is the interpreters' clearing up: with torch that takes a second or two."""
        expected = self._plan.ranks if self._plan.style == "torchrun" else 1
        if len(self._watch.trails) < expected or not self._watch.all_said_their_end():
            return False
        self._watch.measure(now)  # what was started a moment ago
        return self._watch.all_said_their_end()

    def _every_rank_ended(self) -> bool:
        """Whether all that the parent started has ended, and all ranks that were started from there."""
        started = 1 if self._plan.style != "torchrun" else self._plan.ranks
        return len(self._statuses) == started and all(trail.over for trail in self._watch.trails.values())

    def _short_of_memory(self) -> str:
        """Return in words why the run must end before the kernel ends it; empty when it need not."""
        used, bound = self._watch.memory, self._plan.memory
        if bound is not None and used > bound:
            return f"it used {memory.words(used)}, more than the {memory.words(bound)} that it may"
        free, grown = memory.available(), max(0, used - self._used)
        self._used = used
        # What it took since the last look it may take until the next one.
        if free < memory.RESERVE_BYTES + grown and used > free:
            return f"it used {memory.words(used)}{_growth(grown)} and left the machine only {memory.words(free)}"
        need = self._watch.needed
        if need > used + free or (bound is not None and need > bound):
            room = used + free if bound is None else min(bound, used + free)
            return f"it needs about {memory.words(need)}, and {memory.words(room)} are there"
        return ""

    def _ending(self, how: str, why: str = "") -> Ending:
        return Ending(how, time.monotonic() - self._began, dict(self._statuses), dict(self._pids), why)

    def _hear(self, timeout: float) -> None:
        for report in self._guardian.reports(timeout):
            if "ended" in report and not os.WIFSTOPPED(report["status"]):
                self._statuses[report["ended"]] = report["status"]
                self._pids[report["ended"]] = report["pid"]
            self._over = self._over or "over" in report

    def _words(self, now: float) -> str:
        """Return in a line what the run is doing."""
        doing = [trail.status.doing for _, trail in self._watch.ranks() if trail.status and trail.status.doing]
        if not doing:
            others = self._watch.trails.values()
            doing = [trail.status.doing for trail in others if trail.status and trail.status.doing]
        return f"{doing[0] if doing else 'starting'}, {now - self._began:.0f} s"


def _growth(grown: int) -> str:
    """Say how fast the memory in use grew, where it did: ``grown`` is the number of bytes since the last look."""
    rate = int(grown / MEASURE_SECONDS)
    return f", growing by {memory.words(rate)} a second," if rate >= memory.RESERVE_BYTES else ""

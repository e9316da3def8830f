"""Completes what the ranks of a run wrote by what only the parent knows: who was blocked, and how each one ended."""

import os
import re
import signal
from collections.abc import Iterator, Sequence

from ddpdoctor.events import Blocked, Collective, Ended, Event, Raised
from ddpdoctor.harness.crash_report import last_stack
from ddpdoctor.harness.hang import RankView, difference
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.supervise import Ending
from ddpdoctor.harness.trail import Trail
from ddpdoctor.harness.watch import Watch
from ddpdoctor.place import Place

SPAWN_SAW_SIGNAL = re.compile(r"process \d+ terminated with signal (SIG\w+)")
"""How torch.multiprocessing.spawn tells of a child that died by a signal (ProcessExitedException)."""

CRASHES = frozenset({"SIGABRT"})
"""The signal by which gloo ends a process whose peer sent a message of another size than it expected."""

BUSY_SECONDS = 1.0
"""A rank that did something so short ago was computing when the run was stopped."""


class Endings:
    """The events that complete the trace of one run.

    ``outputs`` are what the processes that the parent had started printed, by their numbers, ``root`` is the project's
    folder, and ``killed_for_memory`` says that the kernel killed a process for want of memory while it ran.
    """

    def __init__(
        self,
        watch: Watch,
        ending: Ending,
        outputs: Sequence[str],
        plan: Plan,
        root: str,
        *,
        killed_for_memory: bool,
    ) -> None:
        self._watch = watch
        self._ending = ending
        self._outputs = outputs
        self._nowhere = Place(plan.script, 1)
        self._ranks = frozenset(range(plan.ranks)) if plan.style == "torchrun" else frozenset()
        self._root = root
        self._killed_for_memory = killed_for_memory
        self._views = watch.views(watch.began + ending.at)
        self._signals = dict(self._deaths())

    def events(self) -> Iterator[Event]:
        """Yield a Blocked event for each rank that waited in vain, and a Raised or an Ended event where one is due."""
        yield from self._blocked()
        main = [trail for trail in self._watch.trails.values() if trail.rank is None and trail.ended is None]
        for trail in [*(trail for _, trail in self._watch.ranks()), *main]:
            name = self._signals.get(trail.pid)
            if name and not self._memory_killed(name) and trail.raised is None:
                yield self._crash(trail, name)
            if trail.ended is None:
                end = self._end(trail, name)
                if end.how == "exit" and end.status and trail.raised is None:
                    yield _left_with_a_status(end, end.status)
                yield end
        yield from self._ends_of_the_unseen()

    @property
    def out_of_memory(self) -> bool:
        """Whether a process of the run was killed for want of memory."""
        return self._ending.how == "memory" or any(map(self._memory_killed, self._signals.values()))

    def _ends_of_the_unseen(self) -> Iterator[Event]:
        """Yield the ends of ranks that the parent started and that never came to say anything."""
        seen = {trail.rank for trail in self._watch.trails.values()}
        for rank in sorted(self._ranks - seen):
            status = self._ending.statuses.get(rank)
            code = None if status is None else os.waitstatus_to_exitcode(status)
            how = "cut" if code is None else "exit" if code >= 0 else "killed"
            yield Ended(place=self._nowhere, rank=rank, time=self._ending.at, how=how, status=code)

    def _memory_killed(self, name: str | None) -> bool:
        return name == "SIGKILL" and self._killed_for_memory

    def _deaths(self) -> Iterator[tuple[int, str]]:
        """Yield each process that died by a signal that did not come from us, and the signal's name."""
        for number, status in self._ending.statuses.items():
            if os.WIFSIGNALED(status):
                yield self._ending.pids[number], _name(os.WTERMSIG(status))
        told = [trail.raised.message for trail in self._watch.trails.values() if trail.raised]
        names = [match[1] for match in map(SPAWN_SAW_SIGNAL.search, told) if match]
        silent = [trail for trail in self._watch.trails.values() if not trail.alive and _left_without_a_word(trail)]
        started = set(self._ending.pids.values())
        for trail, name in zip((trail for trail in silent if trail.pid not in started), names, strict=False):
            yield trail.pid, name

    def _blocked(self) -> Iterator[Event]:
        """Yield where the ranks stood when the run was stopped, or came apart."""
        if self._ending.how in ("hang", "timeout"):
            for view, (_, trail) in zip(self._views, self._watch.ranks(), strict=True):
                if not view.ended:
                    yield self._blocked_at(trail, view.inside, view)
            return
        for rank, collective in list(self._stood_apart()):
            yield _stopped_in(collective, rank, self._ending.at, for_ever=True)

    def _stood_apart(self) -> Iterator[tuple[int, Collective]]:
        """Yield the collectives in which ranks met nobody, where the transport broke the run off instead of waiting.

        gloo tells a rank at once when a peer has gone, and aborts when two ranks send messages of different sizes:
        without that these ranks would hang. So it is when no rank failed of its own accord.
        """
        first = [trail for _, trail in self._watch.ranks() if self._failed_by_itself(trail)]
        if self._ending.how not in ("failed", "finished") or first:
            return
        apart = difference(self._views)
        if apart is not None:
            for collective in apart:
                if collective.rank is not None:
                    yield collective.rank, collective
            return
        left = any(trail.ended and not trail.ended.status and not trail.raised for _, trail in self._watch.ranks())
        for rank, trail in self._watch.ranks():
            if left and trail.raised and trail.raised.caused_by_peer:
                last = next(trail.collectives(), None)
                if last is not None:
                    yield rank, last

    def _failed_by_itself(self, trail: Trail) -> bool:
        name = self._signals.get(trail.pid)
        if name is not None:
            return name not in CRASHES or difference(self._views) is None
        return bool(trail.raised and not trail.raised.caused_by_peer)

    def _blocked_at(self, trail: Trail, inside: Collective | None, view: RankView) -> Event:
        stack = self._stack(trail)
        if inside is not None:
            return _stopped_in(inside, view.rank, self._ending.at, for_ever=self._ending.how == "hang")
        busy = view.still < BUSY_SECONDS
        return Blocked(
            place=stack[-1], stack=stack[:-1], rank=view.rank, time=self._ending.at, seconds=view.still, busy=busy
        )

    def _crash(self, trail: Trail, name: str) -> Event:
        started = (number for number, pid in self._ending.pids.items() if pid == trail.pid)
        output = self._outputs[next(started, 0)]  # what it started itself prints where the first process does
        stack = last_stack(output, self._root) or self._stack(trail)
        return Raised(
            place=stack[-1],
            stack=stack[:-1],
            process=_process(trail),
            rank=trail.rank,
            time=trail.status.time if trail.status else self._ending.at,
            type=name,
            message=f"the process died by the signal {name}{_meaning(name)}",
            caused_by_peer=not self._failed_by_itself(trail),
        )

    def _end(self, trail: Trail, name: str | None) -> Ended:
        stack = self._stack(trail)
        status = self._exit_status(trail)
        return Ended(
            place=stack[-1],
            stack=stack[:-1],
            process=_process(trail),
            rank=trail.rank,
            time=self._ending.at,
            how=self._how(trail, name, status),
            status=status,
        )

    def _how(self, trail: Trail, name: str | None, status: int | None) -> str:
        if self._memory_killed(name) or (self._ending.how == "memory" and name is None and trail.alive):
            return "memory"
        if name is not None:
            return "killed"
        if trail.status and trail.status.done:
            return "natural"
        if status is None and trail.alive and self._ending.how != "finished":
            return "cut"
        # Without the end that Python makes: by os._exit, or by the process that started it when another one failed.
        failed = status is None and any(other.raised for other in self._watch.trails.values())
        return "killed" if failed else "exit"

    def _exit_status(self, trail: Trail) -> int | None:
        """Return the exit status of a process that the parent had started; minus the signal where one killed it."""
        for number, pid in self._ending.pids.items():
            if pid == trail.pid:
                return os.waitstatus_to_exitcode(self._ending.statuses[number])
        return None

    def _stack(self, trail: Trail) -> tuple[Place, ...]:
        """Return where a process was when it last said so, by its status or by an event."""
        last = max(trail.events, key=lambda event: event.time, default=None)
        status = trail.status if trail.status and trail.status.stack else None
        if status is not None and (last is None or status.time >= last.time):
            return tuple(Place(path, line) for path, line in status.stack)
        return (*last.stack, last.place) if last else (self._nowhere,)


def _stopped_in(collective: Collective, rank: int, at: float, *, for_ever: bool) -> Event:
    return Blocked(
        place=collective.place,
        stack=collective.stack,
        process=collective.process,
        rank=rank,
        time=at,
        inside=collective,
        seconds=at - collective.time,
        for_ever=for_ever,
    )


def _left_with_a_status(end: Ended, status: int) -> Raised:
    """Return the failure of a process that nothing but its exit status tells of: it left from native code."""
    return Raised(
        place=end.place,
        stack=end.stack,
        process=end.process,
        rank=end.rank,
        time=end.time,
        type="exit",
        message="",
        status=status,
    )


def _left_without_a_word(trail: Trail) -> bool:
    return trail.ended is None and trail.raised is None and not (trail.status and trail.status.done)


def _process(trail: Trail) -> str:
    return trail.events[-1].process if trail.events else "main"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"  # a real-time signal


def _meaning(name: str) -> str:
    known = {
        "SIGSEGV": "it used memory that is not its own",
        "SIGABRT": "a library gave up",
        "SIGBUS": "memory was gone: a full /dev/shm, a truncated file",
        "SIGFPE": "an arithmetic error in native code",
        "SIGILL": "an instruction that this CPU does not have",
    }
    return f" ({known[name]})" if name in known else ""

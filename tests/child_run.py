"""Runs a script under the child side alone, uncontained, and gives back what it wrote."""

import array
import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

from ddpdoctor import codec
from ddpdoctor.events import Ended, EpochBegun, Event
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.run_folder import PARTS, START, Orders, Status, read_statuses, write_orders

PACKAGE_ROOT = str(Path(__file__).resolve().parent.parent)
SECONDS = 240


class Run(NamedTuple):
    """What a run left: the events in the order of time, all of them and by process, the last statuses, the exit
    statuses, and what was printed.
    """

    events: tuple[Event, ...]
    processes: tuple[tuple[Event, ...], ...]
    statuses: tuple[Status, ...]
    exits: tuple[int, ...]
    output: str
    folder: Path

    def of(self, kind, **fields):
        """The events of a kind whose fields have the given values: a value's text, or the plain thing itself."""
        return [
            event
            for event in self.events
            if isinstance(event, kind) and all(plain(getattr(event, name)) == value for name, value in fields.items())
        ]

    def one(self, kind, **fields):
        """The only event of a kind."""
        (event,) = self.of(kind, **fields)
        return event

    def ends(self):
        """How each rank ended."""
        return {event.rank: event.how for event in self.of(Ended)}


def plain(value):
    """What a Value stands for, and anything else as it is."""
    return getattr(value, "value", value)


def line(event):
    """The line that an event stands on."""
    return event.place.line


def child(folder, script, *, style="single", ranks=1, name="train.py", arguments=(), environment=None, **plan):
    """Run a script's text as the child side does, in a run folder beneath ``folder``."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(script), encoding="utf-8")
    run = folder / "run"
    for part in PARTS:
        (run / part).mkdir(parents=True)
    port = free_port()
    fields = {"layers": frozenset({"model", "probe"}), "backend": "redirect", "directory": str(project), **plan}
    plan = Plan(script=str(path), arguments=tuple(arguments), style=style, ranks=ranks, **fields)
    orders = Orders(plan=plan, root=str(project), began=time.monotonic(), containment="none", port=port)
    write_orders(str(run), orders)
    base = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "MASTER_PORT")}
    base.update({"GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0", **(environment or {})})
    environments = [base]
    if style == "torchrun":
        shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        environments = [{**base, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(ranks)]
    return _finished(run, environments, plan.directory)


def _finished(run, environments, directory):
    with (run / "output" / "all.txt").open("wb") as output:
        started = [
            subprocess.Popen(
                [sys.executable, "-c", START, str(run), PACKAGE_ROOT],
                env=environment,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            for environment in environments
        ]
    deadline = time.monotonic() + SECONDS
    try:
        exits = tuple(process.wait(max(0.1, deadline - time.monotonic())) for process in started)
    finally:
        for process in started:  # whatever it has left behind is in its session
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    processes = {}
    for pid, text in _lines(run):
        event = _with_indices(run, pid, codec.loads(text))
        processes.setdefault(pid, {})[event.order] = event  # one that is written again takes its place
    by_process = sorted((_in_time(events.values()) for events in processes.values()), key=lambda events: events[0].time)
    return Run(
        events=_in_time(event for events in by_process for event in events),
        processes=tuple(by_process),
        statuses=tuple(read_statuses(str(run))),
        exits=exits,
        output=(run / "output" / "all.txt").read_text(encoding="utf-8", errors="replace"),
        folder=run,
    )


def _in_time(events):
    return tuple(sorted(events, key=lambda event: event.time))


def _lines(run):
    for path in sorted((run / "events").iterdir()):
        for text in path.read_text(encoding="utf-8").splitlines():
            yield path.stem, text


def _with_indices(run, pid, event):
    path = run / "indices" / f"{pid}-{event.order}.bin"
    if not isinstance(event, EpochBegun) or not path.exists():
        return event
    return event.with_(indices=array.array("q", path.read_bytes()))


def free_port():
    """A port on loopback that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]

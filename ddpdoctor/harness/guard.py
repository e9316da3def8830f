"""The guardian of a run: a process of its own that contains the run, and cleans up whatever becomes of the parent.

The parent writes an :class:`Order` as a line of JSON to its standard input, later perhaps ``stop``, and reads reports
from its standard output, a JSON object a line: one with ``contained`` or ``refused``; one with ``ended`` for each
process that it had started; one with ``over`` when no process of the run is left. When the input ends, because the
parent closed it or is no more, the guardian ends every process of the run, removes the run's folder and ends.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ddpdoctor.harness import run_folder
from ddpdoctor.harness.contain import copy
from ddpdoctor.harness.contain.forking import Answer, fork_until_ready
from ddpdoctor.harness.contain.ranks import Command, serve
from ddpdoctor.harness.contain.removal import remove
from ddpdoctor.harness.contain.shared_memory import SharedMemory
from ddpdoctor.harness.processes import descendants
from ddpdoctor.named import NamedTuple

SHUTDOWN_SECONDS = 5.0
"""Killed processes are gone in milliseconds; what is not after this long hangs in the kernel and is left."""

LOOK_SECONDS = 0.5
"""How often a run that shares the machine's shared memory is asked what it holds there."""


class Order(NamedTuple):
    """What the parent asks of the guardian."""

    folder: str
    plan: Mapping[str, Any]  # the fields of a Plan, as JSON has them
    root: str
    port: int
    containments: Sequence[str]  # to be tried in this order
    command: Sequence[str]
    ranks: Sequence[Mapping[str, str]]  # the whole environment of each process to be started
    home: str
    temporary: str
    size: int  # bytes that the run may write, where they are kept in memory


class Guard:
    """A run's processes and folder, from the start to :meth:`close`."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._shared = SharedMemory()
        self._shares = False
        os.mkdir(order.folder, 0o700)
        for part in run_folder.PARTS:
            os.mkdir(os.path.join(order.folder, part))

    def contain(self) -> dict[str, Any]:
        """Start the run in the first containment that works; return the report."""
        reasons = []
        for containment in self._order.containments:
            start = self._start_in_copy if containment in ("copy", "sandbox") else self._start_in_overlay
            try:
                return start(containment)
            except OSError as error:
                reasons.append(f"{containment}: {error.strerror or error}")
                self.end()
        return {"refused": reasons}

    def running(self) -> bool:
        """Whether any process of the run is left."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return True
        return False

    def look(self) -> None:
        """Take down what the run holds in the machine's shared memory."""
        if self._shares:
            self._shared.look(descendants(os.getpid()))

    def end(self) -> None:
        """End every process of the run."""
        self.look()
        deadline = time.monotonic() + SHUTDOWN_SECONDS
        while self.running() and time.monotonic() < deadline:
            # Those whose parent ended descend from this process, a subreaper. New ones may be made meanwhile.
            for pid in descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.002)
        self._shared.forget()

    def close(self) -> None:
        """End every process of the run and remove its folder."""
        self.end()
        remove(self._order.folder)

    def _start_in_overlay(self, containment: str) -> dict[str, Any]:
        from ddpdoctor.harness.contain import overlay

        order = self._order
        rootless = containment == "rootless" or not overlay.may_as_root()
        if rootless and order.ranks:
            overlay.expect_own_files(order.root)
        orders = self._write_orders(order.plan, order.root, "overlay")
        commands = [Command(order.command, environment) for environment in order.ranks]
        needed = (order.root, orders.plan.directory, order.home, order.temporary)

        def first(answer: Answer) -> None:
            overlay.enter(order.folder, order.size, needed, rootless=rootless)
            answer.ready()
            serve(order.folder, commands, orders.plan.directory, _report)

        overlay.fork_into_namespaces(first, rootless=rootless)
        how = "an overlay in a user namespace" if rootless else "an overlay"
        return {"contained": "overlay", "how": how, "began": orders.began, "places": (), "linked": ()}

    def _start_in_copy(self, containment: str) -> dict[str, Any]:
        order = self._order
        scratch = os.path.join(order.folder, "scratch")
        remove(scratch)  # what an earlier try left
        os.mkdir(scratch)
        made = copy.Copy((), ())
        if order.ranks:  # else nothing is to be run: the parent asks whether this containment works
            made = copy.prepare(scratch, order.root, order.plan["directory"], order.home, order.temporary)
        plan = {
            **order.plan,
            "script": made.inside(order.plan["script"]),
            "directory": made.inside(order.plan["directory"]),
            "arguments": [made.argument(text) for text in order.plan["arguments"]],
        }
        orders = self._write_orders(plan, made.inside(order.root), "copy")
        arguments = copy.command_in_sandbox(order.command, order.folder)
        own = {"HOME": made.inside(order.home), "TMPDIR": made.inside(order.temporary)}
        commands = [Command(arguments, {**made.environment(environment), **own}) for environment in order.ranks]

        def first(answer: Answer) -> None:
            if containment == "copy":
                copy.hold_to(order.folder)
            answer.ready()
            serve(order.folder, commands, orders.plan.directory, _report)

        self._shares = containment == "copy"
        fork_until_ready(first)
        how = "a copy under Landlock" if containment == "copy" else "a copy under sandbox-exec"
        return {"contained": "copy", "how": how, "began": orders.began, "places": made.places, "linked": made.linked}

    def _write_orders(self, plan: Mapping[str, Any], root: str, containment: str) -> run_folder.Orders:
        orders = run_folder.Orders(
            plan=run_folder.plan_of(plan),
            root=root,
            began=time.monotonic(),
            containment=containment,
            port=self._order.port,
        )
        run_folder.write_orders(self._order.folder, orders)
        return orders


def main() -> None:
    """Guard one run: from the order on standard input to the end of the input."""
    line = sys.stdin.buffer.readline()
    if not line:
        return  # the parent is gone before it had asked for anything
    if sys.platform == "linux":
        from ddpdoctor.harness.contain import kernel

        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    wakened, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    guard = Guard(Order(**json.loads(line)))
    try:
        _report(guard.contain())
        for event in _events(wakened, guard.look):
            if event == "stop":
                guard.end()
            if not guard.running():
                _report({"over": True})
    finally:
        guard.close()


def _events(wakened: int, look: Callable[[], None]) -> Iterator[str]:
    """Yield ``stop`` when the parent asks for it and ``child`` when a process ended, until the parent wants no more."""
    while True:
        ready, _, _ = select.select([0, wakened], [], [], LOOK_SECONDS)
        if wakened in ready:
            signals = os.read(wakened, 64)
            if set(signals) - {signal.SIGCHLD}:
                return
            yield "child"
        if 0 in ready:
            said = os.read(0, 64)
            if not said:
                return
            yield "stop"
        if not ready:
            look()


def _report(report: Mapping[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(report).encode() + b"\n")

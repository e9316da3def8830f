"""One process of a run and all that observes it."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from ddpdoctor.events import MAIN
from ddpdoctor.harness.child.budget import Budget
from ddpdoctor.harness.child.collectives import CollectiveLog
from ddpdoctor.harness.child.dataset_log import DatasetLog
from ddpdoctor.harness.child.device_log import DeviceLog
from ddpdoctor.harness.child.failures import Failures
from ddpdoctor.harness.child.frames import OURS, UserFrames
from ddpdoctor.harness.child.objects import Objects
from ddpdoctor.harness.child.patches import Patches
from ddpdoctor.harness.child.pulse import Pulse, cpu_seconds
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.harness.child.rounds import Rounds
from ddpdoctor.harness.child.sampler_log import SamplerLog
from ddpdoctor.harness.child.source_cut import SourceCut
from ddpdoctor.harness.child.wrapped import Wrappers
from ddpdoctor.harness.run_folder import Status, read_orders

if TYPE_CHECKING:
    from ddpdoctor.harness.child.epochs import Epoch
    from ddpdoctor.harness.child.processes import Starts
    from ddpdoctor.harness.child.trial import Trial


class Observer:
    """What the patches of a process share: its orders, its record, the objects it knows and the budget it has.

    ``process`` is the name of this process in the trace, ``rank`` its rank as far as it is known before its process
    group is initialised. ``doing`` says in words what is going on, ``need`` the bytes the rank will use at most.
    """

    def __init__(self, folder: str, process: str = MAIN, rank: int | None = None) -> None:
        self.folder = folder
        self.orders = read_orders(folder)
        self.plan = self.orders.plan
        self.redirected = self.plan.backend != "native"
        self.frames = UserFrames(self.orders.root, self.plan.script)
        self.recorder = Recorder(folder, self.orders.began, self.frames)
        self.recorder.process, self.recorder.rank = process, rank
        self.objects = Objects(self.frames, self.recorder)
        self.patches = Patches(self.recorder)
        self.rounds = Rounds()
        self.budget = Budget(self.plan, self.rounds, self.recorder)
        self.source = SourceCut(self.frames, self.rounds)
        self.collectives = CollectiveLog(self.recorder, self.frames)
        self.devices = DeviceLog(self.recorder, self.frames)
        self.datasets = DatasetLog(self.recorder, self.objects)
        self.samplers = SamplerLog(self.recorder, self.objects, self.datasets)
        self.wrappers = Wrappers()
        self.failures = Failures(self.recorder, self.frames, self.budget)
        self.pulse = Pulse(folder, self.status, self.budget.check_time)
        self.trial: Trial | None = None  # in a copy of a process that tries something out
        self.starts: Starts | None = None
        self.epoch: Callable[[], Epoch | None] = lambda: None  # of the loader that is being read
        self.current_device: object = None  # the virtual GPU, where there are no others
        self.doing = "starting"
        self.done = False
        self.need = 0
        self.runs_exit_functions = True  # a forked process leaves without
        self.tried = False  # what an exception leads to
        self.asked_backend: str | None = None
        self.loaded_share = 1.0  # of the last batch: the part of its samples that was loaded
        self.translate: Callable[[Any, Any, Any], Any] | None = None  # calls a torch function on the CPU instead
        self._quiet = 0

    @property
    def is_quiet(self) -> bool:
        """Whether devices are not written down now: something that was written does what it does inside."""
        return self._quiet > 0

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Write no devices down in the block."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def status(self) -> Status:
        """Return what this process is at."""
        frame, doing = self.frames.main(), self.doing
        thread = unended_thread() if self.done else None
        if thread is not None:
            frame, doing = sys._current_frames().get(thread.ident or 0), f"waiting for its thread {thread.name} to end"
        inner_first = (self.frames.place(frame) for frame in self.frames.outward(frame))
        return Status(
            pid=os.getpid(),
            rank=self.recorder.rank,
            time=self.recorder.now(),
            cpu=cpu_seconds(),
            collectives=self.collectives.issued,
            inside=self.collectives.inside(),
            stack=tuple((place.file, place.line) for place in reversed(tuple(inner_first))),
            doing=doing,
            done=self.done,
            need=self.need,
        )

    def leaves(self, error: BaseException) -> None:
        """Take note of an exception that leaves the user's code, whoever gets it then."""
        if self.trial is not None:
            self.trial.left()
        self.failures.raised(error)

    def caller(self) -> FrameType:
        """Return the frame that called the function of ours, or the chain of them, that calls this."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
            frame = frame.f_back
        return frame


def unended_thread() -> threading.Thread | None:
    """Return a thread of the script's that the interpreter waits for before it ends."""
    main = threading.main_thread()
    return next((thread for thread in threading.enumerate() if not thread.daemon and thread is not main), None)

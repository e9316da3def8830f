"""Writes down every collective of this rank: the user's, DDP's reducer's and constructor's, SyncBatchNorm's."""

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from ddpdoctor.events import Collective
from ddpdoctor.harness.child.frames import OURS, UserFrames
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.named import NamedTuple
from ddpdoctor.value import Value

OPERATIONS = {
    "SEND": "send",
    "RECV": "recv",
    "BROADCAST": "broadcast",
    "ALLREDUCE": "all_reduce",
    "REDUCE": "reduce",
    "ALLGATHER": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
    "BARRIER": "barrier",
    "SCATTER": "scatter",
    "GATHER": "gather",
}
"""The operations of a process group (``HookOpName``) by the names of the functions of torch.distributed."""

HOOK = 0x0DD9
"""The number by which our hooks are known to a process group; the user's have others."""

_C10D = os.path.join("torch", "distributed", "distributed_c10d.py")
_FUNCTIONAL = os.path.join("torch", "distributed", "_functional_collectives.py")
_DDP = os.path.join("torch", "nn", "parallel", "distributed.py")
_HOOKS = os.path.join("torch", "distributed", "algorithms", "ddp_comm_hooks")
_AUTOGRAD = os.path.join("torch", "autograd")
_SYNC_BATCHNORM = (
    os.path.join("torch", "nn", "modules", "_functions.py"),
    OURS + os.path.join("harness", "child", "redirect", "sync_batchnorm.py"),
)


class _Pending(NamedTuple):
    order: int
    work: Any


class Caller(NamedTuple):
    """Who issues a collective: the function of torch.distributed that was called, and on whose behalf."""

    op: str | None
    origin: str


class CollectiveLog:
    """The collectives of this process, in order, and those that have not completed."""

    def __init__(self, recorder: Recorder, frames: UserFrames) -> None:
        self.issued = 0
        self.by_reducer = 0
        self._recorder = recorder
        self._frames = frames
        self._sequences: Counter[object] = Counter()
        self._pending: deque[_Pending] = deque()

    def begin(self, operation: str, tensors: Sequence[Any], group: Value | None, frame: FrameType | None = None) -> int:
        """Write a collective that is being issued and return its order."""
        caller = self._caller(frame or sys._getframe(1))
        sequence = self._sequences[group]
        self._sequences[group] += 1
        self.issued += 1
        self.by_reducer += caller.origin == "reducer"
        return self._recorder.write(
            Collective,
            op=caller.op or operation,
            origin=caller.origin,
            group=group,
            sequence=sequence,
            shapes=tuple(tuple(tensor.shape) for tensor in tensors),
            dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else "",
        )

    def begin_anew(self) -> None:
        """Take note that all groups are gone: the ones that come count from 0."""
        self._sequences.clear()

    def under_way(self, order: int, work: Any) -> None:
        """Take note of the work that completes when a collective has."""
        self._pending.append(_Pending(order, work))
        if len(self._pending) > 64:
            self._forget_completed()

    def inside(self) -> int | None:
        """Return the order of the oldest collective that has not completed."""
        self._forget_completed()
        try:
            return self._pending[0].order
        except IndexError:
            return None

    def _forget_completed(self) -> None:
        for pending in tuple(self._pending):
            if pending.work.is_completed():
                try:
                    self._pending.remove(pending)
                except ValueError:
                    continue  # the other thread was faster

    def _caller(self, frame: FrameType | None) -> Caller:
        """Read from the frames between the process group and the user's code who issues a collective."""
        called: str | None = None
        origin: str | None = None
        while frame is not None and not self._frames.is_user(frame):
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            if file.endswith((_C10D, _FUNCTIONAL)):
                called = name
            elif origin is None:
                origin = _origin(file, name, by_function=called is not None)
            frame = frame.f_back
        if origin is None:
            # A thread of autograd's has none of the user's frames: DDP's reducer runs there on GPUs.
            origin = "user" if called is not None or frame is not None else "reducer"
        return Caller(called if origin == "user" else None, origin)


def _origin(file: str, name: str, *, by_function: bool) -> str | None:
    if file.endswith(_SYNC_BATCHNORM):
        return "sync-batchnorm"
    if file.endswith(_DDP):
        if name == "__init__":
            return "wrap"
        if name == "_pre_forward":
            return "reducer"  # the rebuilding of the buckets: buffers come through a function of its own
        return "buffers" if "buffers" in name or "broadcast" in name else None
    if _HOOKS in file:
        return "reducer"
    if _AUTOGRAD in file and name == "_engine_run_backward" and not by_function:
        return "reducer"
    return None


def watch(group: Any, log: CollectiveLog, value: Value | None) -> bool:
    """Have a process group's collectives written down by its own hooks; false when it has none (before torch 2.14)."""
    register: Callable[..., None] | None = getattr(group, "register_pre_hook", None)
    if register is None:
        return False
    orders: dict[int, int] = {}

    def before(called: Any) -> None:
        tensors = list(called.input_tensors) or list(called.output_tensors)
        orders[called.op_id] = log.begin(OPERATIONS.get(called.name.name, called.name.name.lower()), tensors, value)

    def after(called: Any) -> None:
        order = orders.pop(called.op_id, None)
        if order is not None and called.work is not None:
            log.under_way(order, called.work)

    register(HOOK, before)
    group.register_post_hook(HOOK, after)
    return True

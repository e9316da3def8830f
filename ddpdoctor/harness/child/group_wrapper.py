"""Sees the collectives of gloo in torch before 2.14, whose process groups have no hooks: by a group of our own.

A Python class derived from ``ProcessGroup`` is called for the collectives of DDP's reducer too, which is C++.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.value import Value

NAME = "ddpdoctor_gloo"
"""The name by which torch knows our backend; scripts are told of gloo."""

GLOO = "gloo"
WITH_HOOKS = "register_pre_hook"

METHODS = {
    "allreduce": ("all_reduce", 0),
    "allreduce_coalesced": ("all_reduce", 0),
    "broadcast": ("broadcast", 0),
    "reduce": ("reduce", 0),
    "allgather": ("all_gather", 1),
    "allgather_coalesced": ("all_gather", 1),
    "allgather_into_tensor_coalesced": ("all_gather", 1),
    "_allgather_base": ("all_gather", 1),
    "all_gather_single": ("all_gather", 1),
    "all_gather_single_coalesced": ("all_gather", 1),
    "gather": ("gather", 1),
    "scatter": ("scatter", 0),
    "reduce_scatter": ("reduce_scatter", 1),
    "_reduce_scatter_base": ("reduce_scatter", 1),
    "reduce_scatter_single": ("reduce_scatter", 1),
    "reduce_scatter_single_coalesced": ("reduce_scatter", 1),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", 1),
    "alltoall": ("all_to_all", 1),
    "alltoall_base": ("all_to_all", 1),
    "all_to_all_single": ("all_to_all", 1),
    "send": ("send", 0),
    "recv": ("recv", 0),
    "recv_anysource": ("recv", 0),
}
"""The methods of a process group, the operation each is, and which of its arguments holds the tensors to tell of."""


def install(observer: Observer, torch: ModuleType) -> None:
    """Have groups over gloo made by our own backend, where groups have no hooks."""
    c10d: Any = torch.distributed.distributed_c10d
    if hasattr(c10d.ProcessGroup, WITH_HOOKS):
        return
    kind = _watched_group(observer, c10d)
    c10d.Backend.register_backend(NAME, kind, devices=["cpu", "cuda"])
    world = c10d._world

    def replace(original: Any) -> Any:
        def _new_process_group_helper(size: Any, rank: Any, ranks: Any, backend: Any, *args: Any, **kwargs: Any) -> Any:
            if str(backend) != GLOO:
                return through(original, size, rank, ranks, backend, *args, **kwargs)
            group, store = through(original, size, rank, ranks, c10d.Backend(NAME), *args, **kwargs)
            if group in world.pg_map:
                world.pg_map[group] = (backend, world.pg_map[group][1])
            return group, store

        return _new_process_group_helper

    observer.patches.wrap(c10d, "_new_process_group_helper", replace)


def watch(group: Any, value: Value | None) -> bool:
    """Tell a group of our own by which value its collectives are known; false when it is not one."""
    if not hasattr(group, "ddpdoctor_value"):
        return False
    group.ddpdoctor_value = value
    return True


def _watched_group(observer: Observer, c10d: Any) -> Any:
    """Return the class of our groups."""
    log = observer.collectives
    device_of = sys.modules["torch"].device

    class WatchedGroup(c10d.ProcessGroup):  # type: ignore[misc]
        """A process group that passes everything on to gloo."""

        ddpdoctor_value: Value | None = None

        def __init__(self, store: Any, rank: int, size: int, timeout: Any) -> None:
            super().__init__(rank, size)
            self.gloo = c10d.ProcessGroupGloo(store, rank, size, timeout)
            for device in ("cpu", "cuda"):  # torch asks for it too: DDP's logger, object collectives
                self._register_backend(device_of(device), c10d.ProcessGroup.BackendType.GLOO, self.gloo)
            self._name = ""

        def getBackendName(self) -> str:  # noqa: N802
            return GLOO

        def setGroupName(self, name: str) -> None:  # noqa: N802
            self._name = name

        def getGroupName(self) -> str:  # noqa: N802
            return self._name

        def barrier(self, opts: Any = None) -> Any:
            order = log.begin("barrier", [], self.ddpdoctor_value)
            work = through(self.gloo.barrier, c10d.BarrierOptions())
            log.under_way(order, work)
            return work

        def monitored_barrier(self, *args: Any, **kwargs: Any) -> Any:
            return through(self.gloo.monitored_barrier, *args, **kwargs)

    for name, (operation, position) in METHODS.items():
        if hasattr(c10d.ProcessGroupGloo, name):
            setattr(WatchedGroup, name, _watched_method(observer, c10d.ReduceOp, name, operation, position))
    return WatchedGroup


def _watched_method(observer: Observer, reduce: Any, name: str, operation: str, position: int) -> Callable[..., Any]:
    log = observer.collectives

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        order = log.begin(operation, _flat(args[min(position, len(args) - 1)]), self.ddpdoctor_value)
        averages = observer.asked_backend != GLOO and _sums_instead(reduce, args)
        work = through(getattr(self.gloo, name), *args, **kwargs)
        log.under_way(order, work)
        if averages:
            through(work.wait)
            for tensor in _flat(args[0]):
                tensor.div_(self.size())
        return work

    method.__name__ = name
    return method


def _sums_instead(reduce: Any, options: tuple[Any, ...]) -> bool:
    """Have a collective sum that is to average, and say so: gloo of these releases does not average, NCCL does."""
    for option in options:
        if getattr(option, "reduceOp", None) == reduce.AVG:
            option.reduceOp = reduce.SUM
            return True
    return False


def _flat(tensors: Any) -> list[Any]:
    if isinstance(tensors, (list, tuple)):
        return [tensor for part in tensors for tensor in _flat(part)]
    return [tensors]

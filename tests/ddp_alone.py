"""Runs a model's forward and backward passes under DDP in this process alone, and says what DDP did."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from ddpdoctor.harness.child.threads import MINIMUM
from ddpdoctor.model.gradients import BackwardSeen, GradientWatch
from ddpdoctor.model.stride_warnings import stride_warnings


def observe(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    *,
    loss: Callable[[Any], torch.Tensor] | None = None,
    steps: int = 1,
    options: Mapping[str, Any] | None = None,
    after_wrap: Callable[[torch.nn.Module], object] | None = None,
) -> tuple[BackwardSeen, ...]:
    """Wrap a model in DDP and return what each of ``steps`` backward passes did to its gradients.

    ``loss`` makes a scalar of the model's output (default: the sum of squares of all its tensors that require
    gradients), ``options`` are for DDP's constructor, ``after_wrap`` is called with the model once it is wrapped.
    Gradients are cleared before each pass and after the last. Raises whatever DDP or the model raises.
    """
    measure = loss or sum_of_squares
    seen: list[BackwardSeen] = []
    with alone(), enough_threads():
        wrapper = DistributedDataParallel(model, **(options or {}))
        watch = GradientWatch(wrapper)
        try:
            if after_wrap is not None:
                after_wrap(model)
            for _ in range(steps):
                output = wrapper(*inputs)
                watch.forward_begun()
                with stride_warnings() as warned:
                    measure(output).backward()  # type: ignore[no-untyped-call]
                seen.append(watch.collect(warned))
                model.zero_grad(set_to_none=True)
        finally:
            watch.close()
    return tuple(seen)


@contextmanager
def alone() -> Iterator[None]:
    """Have a process group of this process alone for the block, unless there is a group already."""
    if dist.is_initialized():
        yield
        return
    dist.init_process_group("gloo", store=torch._C._distributed_c10d.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def enough_threads() -> Iterator[None]:
    """Have at least as many threads as a run has for the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(before, MINIMUM))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sum_of_squares(output: Any) -> torch.Tensor:
    """Return the sum of squares of all tensors in a model's output that require gradients."""
    total = torch.zeros(())
    for tensor in _tensors(output):
        if tensor.requires_grad:
            total = total + tensor.float().pow(2).sum()
    return total


def _tensors(output: Any) -> Iterator[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, Mapping):
        for item in output.values():
            yield from _tensors(item)
    elif isinstance(output, (list, tuple)):
        for item in output:
            yield from _tensors(item)

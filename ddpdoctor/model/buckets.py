"""The buckets into which DDP groups gradients for its all-reduces."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

MEBIBYTE = 1024 * 1024
FIRST_BUCKET = MEBIBYTE
"""The capacity in bytes of the bucket that is ready first, unless ``bucket_cap_mb`` is given
(``kDefaultFirstBucketBytes`` in torch/csrc/distributed/c10d/reducer.hpp)."""


class Bucket(NamedTuple):
    """One bucket: the names of its parameters in the order of their slots, and its size in bytes."""

    names: tuple[str, ...]
    bytes: int


def assigned(parameters: Sequence[tuple[str, torch.Tensor]], capacity: int, first: int = FIRST_BUCKET) -> list[Bucket]:
    """Return the buckets that DDP makes of named parameters given in the order in which their gradients are ready.

    ``capacity`` and ``first`` (for the first bucket) are in bytes. This is what the second forward pass rebuilds the
    buckets to; in the first pass, before the order is known, all gradients normally share one bucket.
    """
    if not parameters:
        return []
    tensors = [tensor for _, tensor in parameters]
    assign: Any = getattr(dist, "_compute_bucket_assignment_by_size")  # noqa: B009 - private: not in the type stubs
    groups, _ = assign(tensors, [first, capacity], [False] * len(tensors))
    return [
        Bucket(
            tuple(parameters[index][0] for index in group),
            sum(tensors[index].numel() * tensors[index].element_size() for index in group),
        )
        for group in groups
    ]


def sizes(wrapper: DistributedDataParallel) -> tuple[int, ...]:
    """Return the sizes in bytes of a wrapper's buckets as they are now; empty when this PyTorch does not tell."""
    told = getattr(wrapper, "_get_ddp_logging_data", None)
    if told is None:
        return ()
    data = told()
    text = str(data.get("rebuilt_bucket_sizes") or data.get("bucket_sizes") or "")
    return tuple(int(size) for size in text.split(",") if size.strip())

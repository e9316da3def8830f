"""The memory layouts of gradients: the rules by which DDP lays out its bucket views and warns of mismatches.

The rules are PyTorch's own (torch/csrc/distributed/c10d/reducer.cpp, torch/csrc/autograd/functions/accumulate_grad.h):

- A slot in a bucket (a *bucket view*) takes the strides of its parameter where the parameter is non-overlapping and
  dense, and is contiguous otherwise (``Reducer::initialize_bucket_views``).
- Autograd keeps a gradient as it comes where it obeys the layout of its parameter, dimensions of size 1 left aside, and
  clones it into that layout otherwise (``AccumulateGrad``).
- DDP compares the strides as numbers, dimensions of size 1 included, and warns where they differ.

So what DDP warns of is most often *nominal*: the same order in memory under two descriptions.
"""

import re

import torch

from ddpdoctor.layout import row_major
from ddpdoctor.named import NamedTuple

Shape = tuple[int, ...]
Strides = tuple[int, ...]
"""Elements, not bytes, one a dimension."""


class StrideWarning(NamedTuple):
    """What one of DDP's warnings says: the gradient's sizes and strides, and those of its bucket view."""

    shape: Shape
    grad: Strides
    view: Strides
    text: str


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether a tensor's elements fill one block of memory, each place once, in whatever order of dimensions."""
    known = getattr(torch.ops.aten, "is_non_overlapping_and_dense", None)  # an operator since 2.1
    if known is not None:
        return bool(known(tensor))
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def view_strides(parameter: torch.Tensor) -> Strides:
    """Return the strides that a parameter's slot in its bucket gets when the buckets are built now."""
    return tuple(parameter.stride()) if is_dense(parameter) else row_major(parameter.shape)


_NUMBERS = r"\[([-\d, ]*)\]"
_WARNING = re.compile(
    rf"Grad strides do not match bucket view strides.*?grad\.sizes\(\) = {_NUMBERS}, strides\(\) = {_NUMBERS}\s+"
    rf"bucket_view\.sizes\(\) = {_NUMBERS}, strides\(\) = {_NUMBERS}",
    re.DOTALL,
)


def read_warning(text: str) -> StrideWarning | None:
    """Return what a warning says of strides, or ``None`` when it is another warning."""
    found = _WARNING.search(text)
    if found is None:
        return None
    shape, grad, _, view = (
        tuple(int(number) for number in part.split(",") if number.strip()) for part in found.groups()
    )
    return StrideWarning(shape, grad, view, text)

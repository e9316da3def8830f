"""Memory layouts as numbers: strides in elements, one a dimension, without any tensor."""

from collections.abc import Sequence


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a row-major (contiguous) tensor of a shape."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def same_memory_order(shape: Sequence[int], first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two strides describe the same order in memory: they differ at most in dimensions of size 1."""
    return all(size == 1 or one == other for size, one, other in zip(shape, first, second, strict=True))

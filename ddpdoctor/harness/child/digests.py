"""Digests of samples and batches, by which one rank's can be told from another's."""

import hashlib
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

MOST_ELEMENTS = 100_000
"""Of a larger tensor only the first elements count."""

MOST_DEPTH = 8
"""How deep lists, tuples and mappings are looked into."""


def digest(thing: Any) -> str | None:
    """Return a digest of tensors, arrays, pictures and plain values; ``None`` where something else is among them."""
    sum_ = hashlib.blake2b(digest_size=8)
    try:
        for part in _parts(thing, MOST_DEPTH):
            sum_.update(part)
    except Exception:  # a tensor or a picture of the user's own kind may raise anything
        return None
    return sum_.hexdigest()


def _parts(thing: Any, depth: int) -> Iterator[bytes]:
    if depth == 0:
        raise TypeError(type(thing))
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
        yield f"{type(thing).__name__} {thing!r}".encode()
    elif isinstance(thing, Mapping):
        yield f"mapping {len(thing)}".encode()
        for key, value in thing.items():
            yield from _parts(key, depth - 1)
            yield from _parts(value, depth - 1)
    elif isinstance(thing, (list, tuple)):
        yield f"sequence {len(thing)}".encode()
        for value in thing:
            yield from _parts(value, depth - 1)
    elif hasattr(thing, "detach"):
        values = thing.detach().flatten()[:MOST_ELEMENTS].cpu()
        yield f"tensor {tuple(thing.shape)} {thing.dtype}".encode()
        yield from _bytes_of(values)
    elif hasattr(thing, "tobytes"):
        yield f"{type(thing).__name__} {getattr(thing, 'shape', getattr(thing, 'size', ''))}".encode()
        yield thing.tobytes()
    else:
        raise TypeError(type(thing))


def _bytes_of(values: Any) -> Iterator[bytes]:
    import torch

    yield bytes(values.contiguous().view(torch.uint8).tolist())


def data_digest(dataset: Any) -> str | None:
    """Return a digest of a data set by its length and its first, middle and last sample.

    The samples are asked for with generators seeded alike on every rank and put back afterwards, so that random
    transforms give the same of the same sample and the script's own numbers stay what they are. Two folders for which
    there is a stand-in differ by their names.
    """
    try:
        length = len(dataset)
        with _seeded_alike():
            samples = [dataset[position] for position in _positions(length)]
    except Exception:  # the user's own data set may raise anything
        return None
    return digest((length, str(getattr(dataset, "root", "")), samples))


def _positions(length: int) -> Iterable[int]:
    return sorted({0, length // 2, length - 1}) if length else ()


@contextmanager
def _seeded_alike() -> Iterator[None]:
    import torch

    numpy = sys.modules.get("numpy")
    states = random.getstate(), torch.default_generator.get_state(), numpy and numpy.random.get_state()
    try:
        random.seed(0)
        torch.default_generator.manual_seed(0)
        if numpy:
            numpy.random.seed(0)
        yield
    finally:
        random.setstate(states[0])
        torch.default_generator.set_state(states[1])
        if numpy:
            numpy.random.set_state(states[2])

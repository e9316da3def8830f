"""The batches of indices that a loader draws in a whole epoch, of which only some are loaded."""

import itertools
from array import array
from collections.abc import Iterator
from typing import Any

from ddpdoctor.harness.child.digests import data_digest

SAMPLES_LOADED = 4
"""The samples of a batch that are loaded: enough for BatchNorm, which needs two values, and for half-batches of that.

The loader itself keeps its batch size, its length and its batch sampler: only the indices of a batch that are fetched
are fewer, so that an epoch has its true number of batches and its last batch its true raggedness."""

MOST_INDICES = 5_000_000
"""Of longer epochs the indices are not kept."""


class Batches:
    """What a loader's sampler draws, batch by batch, in the place of the iterator that torch reads it from.

    All of an epoch is drawn at once from the loader's own sampler, so that nothing is drawn twice and no state of a
    sampler or of a random generator is disturbed. A sampler without a length may have no end: its batches are drawn as
    they are asked for.
    """

    def __init__(self, inner: Any, *, length: int | None, grouped: bool) -> None:
        """Take the iterator's place; ``length`` is the number of batches to draw at once, where they are drawn so."""
        self.whole: list[Any] | None = None
        self.share = 1.0
        self._length = length
        self._source: Iterator[Any] = inner._sampler_iter
        self._grouped = grouped
        self._position = 0

    @classmethod
    def of(cls, loader: Any, inner: Any, length: int | None) -> "Batches | None":
        """Take the place of the sampler's iterator in torch's iterator over a loader; ``None`` where it has none."""
        source = getattr(inner, "_sampler_iter", None)
        if source is None:
            return None
        grouped = bool(getattr(inner, "_auto_collation", False))
        size = getattr(loader, "batch_size", None) or 1
        iterable = getattr(loader, "batch_sampler", None) is None and getattr(loader, "sampler", None) is None
        at_once = length is not None and not _is_iterable(loader) and not iterable and length * size <= MOST_INDICES
        batches = cls(inner, length=length if at_once else None, grouped=grouped)
        inner._sampler_iter = batches
        return batches

    def draw(self) -> None:
        """Draw the whole epoch, where that is done at once and was not yet."""
        if self.whole is None and self._length is not None:
            self.whole = list(itertools.islice(self._source, self._length))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.whole is not None and self._position < len(self.whole):
            batch = self.whole[self._position]
        else:
            batch = next(self._source)
        self._position += 1
        if not self._grouped or not isinstance(batch, (list, tuple)):
            return batch
        loaded = batch[:SAMPLES_LOADED]
        self.share = len(loaded) / len(batch) if batch else 1.0
        return loaded

    def skip_to_last(self, batches: int) -> None:
        """Leave out batches, so that the next ones are the last of the epoch."""
        if self.whole is not None:
            self._position = max(self._position, len(self.whole) - batches)


def _is_iterable(loader: Any) -> bool:
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def indices_of(loader: Any, batches: Batches | None) -> "array[int] | None":
    """Return the samples of a whole epoch as indices into its data set; ``None`` when they are no numbers."""
    if batches is None or batches.whole is None:
        return None
    grouped = batches.whole and isinstance(batches.whole[0], (list, tuple))
    flat = itertools.chain.from_iterable(batches.whole) if grouped else batches.whole
    try:
        indices = array("q", (int(index) for index in flat))
        return _underlying(loader.dataset, indices)
    except (TypeError, ValueError, IndexError, OverflowError, KeyError):
        return None


def _underlying(dataset: Any, indices: "array[int]") -> "array[int]":
    from torch.utils.data import Subset

    while isinstance(dataset, Subset):
        chosen = dataset.indices
        indices = array("q", (int(chosen[index]) for index in indices))
        dataset = dataset.dataset
    return indices


def data_of(loader: Any) -> str | None:
    """Return a digest of the data set that a loader's indices are into; ``None`` where its sampler knows the ranks."""
    from torch.utils.data import DistributedSampler, Subset

    if isinstance(loader.sampler, DistributedSampler):
        return None
    dataset = loader.dataset
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return data_digest(dataset)

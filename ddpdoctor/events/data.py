"""Seeds, data sets, samplers, loaders and epochs."""

from collections.abc import Sequence

from ddpdoctor.events.base import Event
from ddpdoctor.place import Place
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value


class Seeded(Event):
    """P: a random generator is seeded; the value's taint says whether each rank gets a seed of its own."""

    value: Value
    by: str


class DatasetBuilt(Event):
    """P O: a dataset is made. O: ``length`` in samples; ``stand_in`` says what was put in the place of absent data."""

    dataset: Ref
    length: int | None = None
    stand_in: str | None = None


class SamplerBuilt(Event):
    """P O: a sampler is made.

    P: ``lengths`` are those that its data set can have, where the source says so.
    """

    sampler: Ref
    dataset: Value = UNKNOWN_VALUE
    replicas: Value | None = None
    sampler_rank: Value | None = None
    shuffle: Value | None = None
    seed: Value | None = None
    drop_last: Value | None = None
    lengths: tuple[int, ...] = ()


IN_ORDER = "in order"
"""How batches are taken by hand that follow each other in the data (:attr:`LoaderBuilt.by_hand`)."""


class LoaderBuilt(Event):
    """P O: a DataLoader is asked for. O: before its constructor judges the arguments, so also when it raises.

    P: ``distributed_samplers`` are the DistributedSamplers that it draws from, directly or through batch samplers and
    the script's own; ``sharded_by`` names what divides its data by rank (``the sampler``, ``the dataset`` …), or is
    ``unknown`` when something that was not followed may. ``augmented_by`` is a transform in its data set
    that draws from torch's own generator. ``cut`` is where a rank's part was cut out of the data in a
    way that leaves some ranks with more samples than others. ``iterable``: its data set is a stream, which takes no
    sampler; ``split_by_worker``: that looks at the worker that it runs in. ``cut_by_rank``: the
    stream surely gives each rank a part of its own. ``by_hand``: no DataLoader, but code of the script's own that takes
    the same batches on each rank: ``in order``, or by the numbers of a generator, ``torch``, ``numpy`` or ``random``.
    """

    loader: Ref
    dataset: Value = UNKNOWN_VALUE
    sampler: Value | None = None
    batch_sampler: Value | None = None
    shuffle: Value | None = None
    batch_size: Value | None = None
    workers: Value | None = None
    persistent_workers: Value | None = None
    drop_last: Value | None = None
    distributed_samplers: tuple[Ref, ...] = ()
    sharded_by: str | None = None
    augmented_by: Ref | None = None
    cut: Place | None = None
    iterable: bool = False
    split_by_worker: bool = False
    cut_by_rank: bool = False
    by_hand: str | None = None


class LoaderHandedOver(Event):
    """P: a loader is given to a framework, which deals its batches out to the ranks.

    ``pads``: where they do not come out even, it surely fills them up with samples from the front.
    """

    loader: Ref
    framework: str
    pads: bool = False


class DatasetChanged(Event):
    """P: in a loop, an attribute of a data set is written that ``loader``'s persistent workers hold copies of."""

    dataset: Ref
    loader: Ref
    attribute: str


class WorkerTouchesCuda(Event):
    """P: what ``loader``'s forked workers run comes to CUDA, ``by`` which call."""

    loader: Ref
    by: str


class EpochSet(Event):
    """P O: ``set_epoch`` is called on a sampler (or on what forwards it to one)."""

    target: Value
    value: Value = UNKNOWN_VALUE


class EpochBegun(Event):
    """P O: a loader's iterator is made.

    O: ``number`` counts from 1 a loader; ``length`` is the number of batches a whole epoch has; ``indices`` are the
    samples of the whole epoch in order, as indices into the underlying dataset, or ``None`` when they cannot be had.
    ``data`` is a digest of that dataset, with a loader's first epoch and no DistributedSampler: ranks with different
    ones draw other samples by the same indices. It is ``None`` when there is none.
    """

    loader: Ref
    number: int = 0
    length: int | None = None
    indices: Sequence[int] | None = None
    data: str | None = None


class EpochEnded(Event):
    """O: a loader's iterator is exhausted or cut; ``steps`` counts the optimiser steps taken meanwhile."""

    loader: Ref
    number: int
    steps: int
    cut: bool = False

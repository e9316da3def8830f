"""Observes DataLoaders: what each is asked for, and the epochs that are read from it."""

import inspect
import itertools
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ddpdoctor.events import LoaderBuilt
from ddpdoctor.harness.child.epochs import Epoch
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.value import Constant, Ref, Value


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe the constructor of DataLoader and the making of its iterators."""
    from torch.utils.data import dataloader as module

    single: Any = getattr(module, "_SingleProcessDataLoaderIter", None)
    loading = Loading(observer, single)
    observer.patches.wrap(module.DataLoader, "__init__", loading.built)
    if single is None:
        observer.recorder.cut("the epochs of loaders", "this release of torch reads them in another way")
        return
    observer.patches.wrap(module.DataLoader, "__iter__", loading.iterated)


class Loading:
    """The loaders of this process."""

    def __init__(self, observer: Observer, single: Any) -> None:
        self._observer = observer
        self._single = single
        self._numbers: defaultdict[Ref, Iterator[int]] = defaultdict(lambda: itertools.count(1))

    def built(self, original: Any) -> Any:
        """Make the replacement of DataLoader's constructor: the event is written before the arguments are judged."""
        signature = inspect.signature(original)

        def __init__(loader: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                given = signature.bind_partial(loader, *args, **kwargs).arguments
            except TypeError:
                given = {}  # the constructor says what is wrong
            self._write(loader, {**given, **given.get("kwargs", {})})
            through(original, loader, *args, **kwargs)

        return __init__

    def _write(self, loader: Any, given: dict[str, Any]) -> None:
        observer = self._observer
        for name in ("sampler", "batch_sampler"):
            observer.samplers.met(given.get(name))
        observer.recorder.write(
            LoaderBuilt,
            loader=observer.objects.made(loader),
            dataset=observer.datasets.value(given.get("dataset")),
            sampler=self._object(given, "sampler"),
            batch_sampler=self._object(given, "batch_sampler"),
            shuffle=_plain(given.get("shuffle")),
            batch_size=_plain(given.get("batch_size", 1)),
            workers=_plain(given.get("num_workers", 0)),
            persistent_workers=_plain(given.get("persistent_workers", False)),
        )

    def _object(self, given: dict[str, Any], name: str) -> Value | None:
        thing = given.get(name)
        return None if thing is None else self._observer.objects.value(thing)

    def iterated(self, original: Any) -> Any:
        """Make the replacement of ``DataLoader.__iter__``: batches are read in this process, and an epoch cut short."""

        def __iter__(loader: Any) -> Any:  # noqa: N807
            observer = self._observer
            if observer.trial is not None:
                observer.trial.went_on()
            if loader.num_workers:
                observer.recorder.substituted(f"{loader.num_workers} loader workers", "loading in the rank itself")
            inner = self._read_here(loader)
            ref = observer.objects.made(loader)
            return Epoch(observer, loader, inner, ref, self._numbers[ref])

        return __iter__

    def _read_here(self, loader: Any) -> Any:
        """Return torch's own iterator for a loader without workers."""
        settings = {
            name: getattr(loader, name) for name in ("num_workers", "timeout", "pin_memory") if hasattr(loader, name)
        }
        try:
            for name, value in settings.items():
                setattr(loader, name, type(value)(0))
            return through(self._single, loader)
        finally:
            for name, value in settings.items():
                setattr(loader, name, value)


def _plain(value: Any) -> Value | None:
    if value is None or isinstance(value, (bool, int)):
        return Constant(value=value)
    return Constant(value=str(value))

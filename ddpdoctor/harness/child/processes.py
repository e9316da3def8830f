"""Observes the starts and joins of processes by the script, and has what it starts observe itself."""

import multiprocessing
import multiprocessing.forkserver
import multiprocessing.process
import multiprocessing.spawn
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ddpdoctor.events import MAIN, ProcessJoined, ProcessStarted
from ddpdoctor.harness.child import births
from ddpdoctor.harness.child.births import Birth
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.place import Place
from ddpdoctor.value import Constant, Ref

PREPARATION = "ddpdoctor"
"""The key under which a spawned process finds how to observe itself, among what its parent prepares it with."""


def install(observer: Observer) -> None:
    """Observe ``multiprocessing`` in this process."""
    starts = observer.starts = Starts(observer)
    base = multiprocessing.process.BaseProcess
    observer.patches.wrap(base, "start", starts.start)
    observer.patches.wrap(base, "join", starts.join)
    observer.patches.wrap(base, "_bootstrap", lambda original: births.bootstrap(observer, original, starts.under_way))
    observer.patches.wrap(multiprocessing.spawn, "get_preparation_data", starts.preparation)
    # A fork server would import the main module before it could be told to observe itself.
    server: Any = getattr(multiprocessing.forkserver, "_forkserver", None)
    if server is not None:
        server.set_forkserver_preload([])


class Starts:
    """The processes that this process starts; those started at one place share a name."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._places: dict[Place, int] = {}
        self._ranks: Counter[str] = Counter()
        self._birth: Birth | None = None
        self._of_one_start: str | None = None
        self._refs: weakref.WeakKeyDictionary[Any, Ref] = weakref.WeakKeyDictionary()
        self._joined: set[Ref] = set()

    def under_way(self) -> Birth | None:
        """Return the birth that is under way in this process, or was when it was forked."""
        return self._birth

    def write(self, **fields: Any) -> Ref:
        """Write that processes are started, and return the Ref that stands for them."""
        ref = self._observer.objects.made(_Started(), kind="multiprocessing.Process")
        self._observer.recorder.write(ProcessStarted, started=ref, child=self._child(ref.place), **fields)
        return ref

    def _child(self, place: Place) -> str:
        number = self._places.setdefault(place, len(self._places))
        own = self._observer.recorder.process
        return f"child {number}" if own == MAIN else f"{own}.{number}"

    @contextmanager
    def of_one_start(self, ref: Ref) -> Iterator[None]:
        """Take all processes started in the block for those of a start that was written already."""
        self._of_one_start = self._child(ref.place)
        try:
            yield
        finally:
            self._of_one_start = None

    def stands_for(self, thing: object, ref: Ref) -> None:
        """Take note that an object stands for started processes."""
        self._refs[thing] = ref

    def joins(self, thing: object) -> None:
        """Write that started processes are waited for, once, when an object stands for some."""
        ref = thing if isinstance(thing, Ref) else self._refs.get(thing)
        if ref is not None and ref not in self._joined:
            self._joined.add(ref)
            self._observer.recorder.write(ProcessJoined, started=ref)

    def start(self, original: Any) -> Any:
        """Make the replacement of ``Process.start``."""

        def start(process: Any) -> Any:
            child = self._of_one_start
            if child is None and self._observer.frames.is_user(self._observer.caller()):
                ref = self.write(
                    method=_method(process),
                    target=_target(process),
                    count=Constant(value=1),
                    join=Constant(value=False),
                    daemon=Constant(value=bool(process.daemon)),
                )
                self.stands_for(process, ref)
                child = self._child(ref.place)
            if child is not None:  # else a library's own: the server of a manager, a pool's worker
                self._birth = Birth(self._observer.folder, child, self._ranks[child])
                self._ranks[child] += 1
            try:
                return through(original, process)
            finally:
                self._birth = None

        return start

    def join(self, original: Any) -> Any:
        """Make the replacement of ``Process.join``, and of ``ProcessContext.join`` too."""

        def join(process: Any, *args: Any, **kwargs: Any) -> Any:
            if self._observer.frames.is_user(self._observer.caller()):
                self.joins(process)
            return through(original, process, *args, **kwargs)

        return join

    def preparation(self, original: Any) -> Any:
        """Make the replacement of what prepares a spawned process."""

        def get_preparation_data(name: str) -> Any:
            data = through(original, name)
            return data if self._birth is None else {PREPARATION: self._birth, **data}

        return get_preparation_data


class _Started:
    """Processes started at one time."""


def _method(process: Any) -> str:
    return str(getattr(process, "_start_method", None) or multiprocessing.get_start_method())


def _target(process: Any) -> str:
    target = getattr(process, "_target", None)
    named = type(process) if target is None else target
    return str(getattr(named, "__qualname__", named))

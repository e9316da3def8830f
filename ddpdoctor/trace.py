"""The traces: what the reader predicts a script will do, and what the harness observed it do.

Both are lists of the events of :mod:`ddpdoctor.events`, so that they can be laid side by side
(:mod:`ddpdoctor.join`): the predicted ones carry conditions and symbols, the observed ones ranks and values.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ddpdoctor.condition import compatible
from ddpdoctor.events import Blocked, Ended, Event, GroupInit, ModelWrapped, Raised
from ddpdoctor.value import Constant

E = TypeVar("E", bound=Event)


class Trace:
    """Events in the order in which they happen, indexed by kind."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = tuple(events)
        index: dict[type[Event], list[Event]] = {}
        for event in self.events:
            index.setdefault(type(event), []).append(event)
        self._index = index

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    @property
    def kinds(self) -> frozenset[str]:
        """The names of the kinds of event that occur."""
        return frozenset(kind.__name__ for kind in self._index)

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """Return the events of one kind, in order."""
        return tuple(self._index.get(kind, ()))  # type: ignore[arg-type]


class Predicted(Trace):
    """What one program will do, as its source says.

    ``complete`` is false when a budget ran out or a module did not parse: then nothing may be concluded from an
    event's absence. ``entered`` is true when the program has an entry point that reaches its events; without one
    every function that nothing calls was taken as a root, with unknown arguments, and ``roots`` has what each of them
    does as spans of the events: in which order they are called, in one program at all, nobody knows. ``ended`` says
    why the reading ended before the program did, and is empty when it did not.
    """

    def __init__(
        self,
        events: Iterable[Event],
        *,
        complete: bool = True,
        entered: bool = True,
        roots: Iterable[tuple[range, ...]] = (),
        ended: str = "",
    ) -> None:
        super().__init__(events)
        self.complete = complete
        self.entered = entered
        self.ended = ended
        self.roots = tuple(roots)

    def alone(self) -> "Iterator[Predicted]":
        """Yield what each root does by itself, with what its module and its object's construction had done before."""
        for spans in self.roots:
            events = (event for span in spans for event in self.events[span.start : span.stop])
            yield Predicted(events, complete=self.complete, entered=self.entered)

    def with_(self, event: Event, kind: type[E]) -> Iterator[E]:
        """Yield the events of a kind that can happen in the same process and run as a given event."""
        for other in self.of(kind):
            if other.process == event.process and compatible(other.when, event.when):
                yield other

    def before(self, event: Event, kind: type[E]) -> Iterator[E]:
        """Yield the events of a kind that can have happened before a given event, in its process or a parent of it."""
        for other in self.of(kind):
            if other.order >= event.order:
                return
            if other.process in (event.process, "main") and compatible(other.when, event.when):
                yield other


class Observed(Trace):
    """What the ranks of one run did.

    ``ranks`` are those that were started; ``redirected`` is true when CUDA and NCCL calls ran on the CPU over gloo;
    ``layers`` are the layers this run served (``model``, ``probe``). ``predicted`` is what the source had said of the
    same script, a trace for each program in it.
    """

    def __init__(
        self,
        events: Iterable[Event],
        *,
        ranks: tuple[int, ...],
        redirected: bool,
        layers: frozenset[str],
        predicted: tuple[Predicted, ...] = (),
    ) -> None:
        super().__init__(events)
        self.ranks = ranks
        self.redirected = redirected
        self.layers = layers
        self.predicted = predicted

    def changed(
        self, events: Iterable[Event] | None = None, predicted: tuple[Predicted, ...] | None = None
    ) -> "Observed":
        """Return the trace with other events, or with what the source had said beside it."""
        return Observed(
            self.events if events is None else events,
            ranks=self.ranks,
            redirected=self.redirected,
            layers=self.layers,
            predicted=self.predicted if predicted is None else predicted,
        )

    def on(self, rank: int, kind: type[E]) -> tuple[E, ...]:
        """Return one rank's events of a kind, in order."""
        return tuple(event for event in self.of(kind) if event.rank == rank)

    def without(self, events: Iterable[Event]) -> "Observed":
        """Return the trace without events that are accounted for already."""
        left_out = set(events)
        return self.changed(event for event in self.events if event not in left_out)

    def by_rank(self, kind: type[E]) -> dict[int, tuple[E, ...]]:
        """Return the events of a kind for each rank that was started."""
        return {rank: self.on(rank, kind) for rank in self.ranks}

    def lacked(self, raised: Raised) -> bool:
        """Whether a rank failed because the script was not given a module, a file or an argument that it begins with.

        Once the rank has wrapped a model, what it misses is a failure of the training's.
        """
        return raised.missing is not None and not any(event.rank == raised.rank for event in self.of(ModelWrapped))

    def may_come_of_the_cut(self, raised: Raised) -> bool:
        """Whether a rank may have failed because the run had left something of the script's work out.

        That is so on every rank alike, but for what rank 0 does alone: of a failure that rank 0 has not had, though it
        was not stopped before it could, the cut is not the cause.
        """
        if not raised.after_cut or raised.rank in (None, 0):
            return raised.after_cut
        own = any(not event.caused_by_peer for event in self.on(0, Raised))
        told = self.on(0, Raised) or any(event.inside is not None for event in self.on(0, Blocked))
        went_on = told or any(event.how in ("natural", "exit") for event in self.on(0, Ended))
        return own or not went_on

    def world_size_asked_for(self) -> int:
        """Return the largest world size that a rank of the script asked ``init_process_group`` for, or 0."""
        sizes = (event.world_size.value for event in self.of(GroupInit) if isinstance(event.world_size, Constant))
        return max((size for size in sizes if isinstance(size, int)), default=0)

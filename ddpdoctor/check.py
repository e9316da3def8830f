"""What a check is: one fault, seen in the predicted trace, in the observed one, or in both."""

from collections.abc import Callable, Iterator

from ddpdoctor.events import Event
from ddpdoctor.finding import Fault, Severity, Verdict
from ddpdoctor.named import NamedTuple
from ddpdoctor.record import Record
from ddpdoctor.trace import Observed, Predicted

Predict = Callable[[Predicted], Iterator[Fault]]
Judge = Callable[[Fault, Observed], Verdict]
Observe = Callable[[Observed], Iterator[Fault]]


class Check(Record):
    """One row of the catalogue, registered by standing as ``CHECK`` in its folder's ``__init__.py``.

    ``name`` is kebab-case and names the fault. ``summary`` is one line for lists. ``triggers`` are the events without
    any of which the check has nothing to say; it is not even imported then. ``predict`` finds the fault in a predicted
    trace, ``judge`` says what a run showed of such a fault, and ``observe`` finds the fault in a run by itself: it
    brings the verdict along and is asked for the faults that no prediction accounts for. ``consequence`` marks a check
    whose fault other faults can cause (a hang, a failed rank): it is asked last, without the events that verdicts of
    others explain. ``waits`` says that the fault is a wait without an end: a hang that a run comes to at its place is
    the same fault.
    """

    name: str
    summary: str
    severity: Severity
    triggers: tuple[type[Event], ...]
    predict: Predict | None = None
    judge: Judge | None = None
    observe: Observe | None = None
    consequence: bool = False
    waits: bool = False
    preview: bool = False
    layers: tuple[str, ...]  # source, model, probe: where the fault can be seen


class Row(NamedTuple):
    """What the generated index knows of a check without importing it."""

    name: str
    summary: str
    severity: str
    layers: tuple[str, ...]
    triggers: tuple[str, ...]
    preview: bool

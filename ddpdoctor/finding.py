"""What a check says: a fault, the finding that the report shows of it, and the verdict a run gave on it."""

import enum
from collections.abc import Mapping

from ddpdoctor.events import Event
from ddpdoctor.place import Place
from ddpdoctor.record import Record
from ddpdoctor.value import Ref


class Severity(enum.Enum):
    """The harm when a finding is true."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def weight(self) -> int:
        """How much it weighs: 3 for an error, 1 for a note."""
        return {"error": 3, "warning": 2, "note": 1}[self.value]


class Confidence(enum.Enum):
    """How certain the check is, apart from the harm."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        """How much it weighs: 3 for high, 1 for low."""
        return {"high": 3, "medium": 2, "low": 1}[self.value]


class State(enum.Enum):
    """What a run said about a prediction."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_REACHED = "not-reached"
    NOT_DECIDED = "not-decided"


class Label(Record):
    """A further place that a finding is about, and what stands there."""

    place: Place
    text: str


class Fix(Record):
    """What to change; ``safe`` when it cannot change what a right program does."""

    description: str
    safe: bool = False


class Verdict(Record):
    """What a run showed of a predicted fault.

    ``evidence`` is plain data that a reader can check: indices, names, places as ``file:line``. ``explains`` are the
    observed events that the fault accounts for: checks for consequences (a hang, a failed rank) pass over them.
    """

    state: State
    reason: str
    evidence: Mapping[str, object] = {}
    explains: tuple[Event, ...] = ()


class Fault(Record):
    """What a check sees: one fault at one place.

    ``about`` is the object that it is about, by which a run's verdict finds the same object again, and ``subject``
    names it in the report where the place alone does not (a parameter's name). ``event`` is the event that shows the
    fault.
    """

    place: Place
    message: str
    severity: Severity | None = None  # None: the check's own
    confidence: Confidence = Confidence.HIGH
    places: tuple[Label, ...] = ()
    subject: str | None = None
    about: Ref | None = None
    event: Event | None = None
    fix: Fix | None = None
    verdict: Verdict | None = None  # a fault seen in a run brings its own


class Finding(Record):
    """A fault as the report shows it: which check and layer found it, and what the run said of it.

    ``preview`` says that the check is too new to fail a gate.
    """

    check: str
    severity: Severity
    layer: str
    fault: Fault
    verdict: Verdict | None = None
    preview: bool = False

    @property
    def refuted(self) -> bool:
        """Whether the run showed the opposite."""
        return self.verdict is not None and self.verdict.state is State.REFUTED

    @property
    def counted(self) -> bool:
        """Whether it is one of the errors, warnings and notes that a report counts and a gate asks for."""
        return not self.refuted and not self.preview


def callers(event: Event, most: int = 4) -> tuple[Label, ...]:
    """Return the calls that led to an event, the nearest first: where it stands says little of a shared function."""
    return tuple(Label(place=place, text="called from here") for place in reversed(event.stack[-most:]))


def confirmed(reason: str, *explains: Event, **evidence: object) -> Verdict:
    """Return the verdict that the run showed the fault."""
    return Verdict(state=State.CONFIRMED, reason=reason, evidence=evidence, explains=explains)


def refuted(reason: str, **evidence: object) -> Verdict:
    """Return the verdict that the run showed the opposite on the same object."""
    return Verdict(state=State.REFUTED, reason=reason, evidence=evidence)


def not_decided(reason: str) -> Verdict:
    """Return the verdict that no run decides the fault: its check watches none, and the source says it all."""
    return Verdict(state=State.NOT_DECIDED, reason=reason)


def not_reached(reason: str, **evidence: object) -> Verdict:
    """Return the verdict that the run did not come to where the fault would show, and why."""
    return Verdict(state=State.NOT_REACHED, reason=reason, evidence=evidence)

"""A DataLoader that is given both a sampler and ``shuffle=True``: its constructor raises."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula
from ddpdoctor.events import LoaderBuilt, Raised
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Constant, Ref, Symbol, Value, alternatives, truth

RAISED = "mutually exclusive with shuffle"
"""From torch/utils/data/dataloader.py; the words are the same from 1.0 to 2.14."""


def loader_gets_both(trace: Predicted) -> Iterator[Fault]:
    """Find loaders that can get a sampler and a true shuffle on one path."""
    for event in trace.of(LoaderBuilt):
        found = _clash(event)
        if found is None:
            continue
        sampler, certain = found
        yield Fault(
            place=event.place,
            message="this DataLoader gets a sampler and shuffle=True: its constructor raises ValueError",
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            places=(Label(place=sampler.place, text="the sampler"),) if isinstance(sampler, Ref) else (),
            about=event.loader,
            event=event,
            fix=Fix(description="drop shuffle=True: the sampler decides the order (DistributedSampler shuffles)"),
        )


def _clash(event: LoaderBuilt) -> tuple[Value, bool] | None:
    """Return the sampler that a true shuffle can meet, and whether no option has to be guessed for it."""
    if event.sampler is None or event.shuffle is None:
        return None
    for condition, sampler in alternatives(event.sampler, event.when):
        if not isinstance(sampler, Ref):
            continue
        shuffles = list(alternatives(event.shuffle, condition))
        for extra, shuffle in shuffles:
            if len(shuffles) > 1 and not holds_by_default(as_formula(extra - condition)):
                continue
            if truth(shuffle) is True:
                return sampler, True
            if isinstance(shuffle, Symbol) and isinstance(shuffle.default, Constant) and truth(shuffle.default):
                return sampler, False
    return None


def constructor_raised(fault: Fault, run: Observed) -> Verdict:
    """Confirm by the constructor's own exception at this place."""
    built = seen_at(run.of(LoaderBuilt), fault.place, fault.about.stack if fault.about else None)
    raised = [event for event in run.of(Raised) if RAISED in event.message and fault.place.covers(event.place)]
    if raised:
        first = raised[0]
        ranks = sorted({event.rank for event in raised if event.rank is not None})
        consequences = [event for event in run.of(Raised) if event.caused_by_peer]
        return confirmed(
            f"DataLoader raised {first.type} on rank {first.rank}",
            *raised,
            *consequences,
            exception=first.message,
            ranks=ranks,
        )
    if not built:
        return not_reached("no rank came to this line")
    with_both = [event for event in built if isinstance(event.sampler, Ref) and truth(event.shuffle)]
    if with_both:
        return not_reached("the loader got both, and the run was ended before its constructor answered")
    return refuted("the loader was built with " + _given(built[0]), given=_given(built[0]))


def _given(event: LoaderBuilt) -> str:
    sampler = "a sampler" if isinstance(event.sampler, Ref) else "no sampler"
    return f"{sampler} and shuffle={truth(event.shuffle) or False}"


CHECK = Check(
    name="shuffle-with-sampler",
    summary="a DataLoader gets a sampler and shuffle=True: its constructor raises",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(LoaderBuilt,),
    predict=loader_gets_both,
    judge=constructor_raised,
)

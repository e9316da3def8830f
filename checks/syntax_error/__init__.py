"""A file that does not parse, with the likely cause: mostly the damage of a web page it was copied from."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Unparsed
from ddpdoctor.finding import Fault, Severity
from ddpdoctor.trace import Predicted


def does_not_parse(trace: Predicted) -> Iterator[Fault]:
    """Find the files that Python cannot parse: the script itself, and modules that it imports outside a ``try``."""
    for event in trace.of(Unparsed):
        if event.is_within("try") or event.unread:  # of what was not read, the layer's state says so
            continue
        cause = f" ({event.cause})" if event.cause else ""
        yield Fault(place=event.place, message=f"the file does not parse: {event.message}{cause}", event=event)


CHECK = Check(
    name="syntax-error",
    summary="the file does not parse; the likely cause is named",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(Unparsed,),
    predict=does_not_parse,
)

"""A function or an argument for started processes that pickle cannot take to them."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import ProcessStarted, Raised
from ddpdoctor.finding import Fault, Fix, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted

PICKLING = frozenset({"spawn", "forkserver"})
"""Start methods that send the function to a new interpreter; ``fork`` copies the process instead."""


SAYS = ("pickle", "local object")
"""In what pickle says of a function without a name, in one Python or another."""


def process_cannot_be_sent(trace: Predicted) -> Iterator[Fault]:
    """Find started processes whose target or arguments are lambdas, or local to a function."""
    for event in trace.of(ProcessStarted):
        if not event.unpicklable or event.method not in PICKLING:
            continue
        yield Fault(
            place=event.place,
            message=(
                f"{event.unpicklable} cannot be pickled, and {event.method} sends it to another process: "
                "starting the first one raises"
            ),
            about=event.started,
            event=event,
            fix=Fix(description="move it to the top level of its module, and pass what it uses as arguments"),
        )


def start_raised(fault: Fault, run: Observed) -> Verdict:
    """See whether the start raised for want of a name to pickle, or the processes were started."""
    raised = [event for event in seen_at(run.of(Raised), fault.place) if any(word in event.message for word in SAYS)]
    if raised:
        return confirmed(f"{raised[0].type}: {raised[0].message}", *raised, line=fault.place)
    if seen_at(run.of(ProcessStarted), fault.place):
        return refuted("the processes were started")
    return not_reached("the processes were not started")


CHECK = Check(
    name="unpicklable-spawn-target",
    summary="a lambda or a local function is given to spawned processes",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(ProcessStarted,),
    predict=process_cannot_be_sent,
    judge=start_raised,
)

"""Spawned ranks that nobody waits for: a failure of theirs is swallowed."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Ended, ProcessJoined, ProcessStarted, Unfollowed
from ddpdoctor.finding import Fault, Fix, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import same_object, seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Value, alternatives, truth


def never_joined(trace: Predicted) -> Iterator[Fault]:
    """Find ``mp.spawn(join=False)`` whose context is never joined, and daemons that are left to die."""
    for event in trace.of(ProcessStarted):
        daemons = _certainly(event.daemon)
        spawned = event.started.type.startswith("torch.multiprocessing")
        if not _certainly_not(event.join) or not (spawned or daemons):
            continue
        if any(joined.started == event.started for joined in trace.of(ProcessJoined)):
            continue
        if any(event.started in handed.objects for handed in trace.of(Unfollowed)):
            continue  # whoever got it may join it
        what = (
            "the daemons are killed when the script ends"
            if daemons
            else "a failed rank is swallowed: the script exits with 0"
        )
        yield Fault(
            place=event.place,
            message=f"the ranks started here are never joined: {what}",
            severity=Severity.ERROR if daemons else None,
            about=event.started,
            event=event,
            fix=Fix(description="leave join=True, or call context.join() until it returns True"),
        )


def _certainly(value: Value) -> bool:
    return all(truth(option) is True for _, option in alternatives(value))


def _certainly_not(value: Value) -> bool:
    return all(truth(option) is False for _, option in alternatives(value))


def script_ended_first(fault: Fault, run: Observed) -> Verdict:
    """See whether the script came to its end while its ranks were still running."""
    started = seen_at(run.of(ProcessStarted), fault.place)
    if not started:
        return not_reached("the processes were not started")
    joined = [event.started for event in run.of(ProcessJoined) if event.started is not None]
    if fault.about is not None and same_object(fault.about, joined):
        return refuted("the processes were joined", joined=len(joined))
    ended = [event for event in run.of(Ended) if event.process == started[0].process and event.rank is None]
    left = next((event for event in ended if event.alive), None)
    if left is not None:
        return confirmed(f"the script ended while {left.alive} of its processes ran", alive=left.alive, joined=False)
    if ended and ended[0].how == "natural":
        return not_reached("its processes had ended before the script did: nothing shows whether it waits for them")
    return not_reached("the script's own end was not seen")


CHECK = Check(
    name="unjoined-spawn",
    summary="spawned ranks are never joined: a failed rank is swallowed",
    severity=Severity.WARNING,
    layers=("source", "probe"),
    triggers=(ProcessStarted,),
    predict=never_joined,
    judge=script_ended_first,
)

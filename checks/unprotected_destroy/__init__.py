"""A process group whose destruction an exception skips."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Backward, Cut, GroupDestroyed, OptimizerStep, Trial
from ddpdoctor.facts import owned
from ddpdoctor.facts.group_ends import are_for_all, destroys_of, of_a_normal_run, processes
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, callers, confirmed, not_reached, refuted
from ddpdoctor.trace import Observed, Predicted

PROTECTING = ("finally", "atexit", "catch-all")
"""Where a destruction stands that an exception comes to."""


def exception_skips_it(trace: Predicted) -> Iterator[Fault]:
    """Find the groups that are destroyed at the end of a normal run only."""
    if not trace.complete or owned(trace, "group"):
        return
    for process in processes(trace) or _made_by_others(trace):
        reached = destroys_of(trace, process)
        whole = of_a_normal_run(reached)
        if not are_for_all(trace, process, whole) or any(event.is_within(*PROTECTING) for event in reached):
            continue
        last = whole[-1]
        yield Fault(
            place=last.place,
            message="an exception in training skips this line, and the process group stays open",
            places=(
                *callers(last, most=2),
                *(Label(place=event.place, text="and here") for event in whole[:-1] if event.place != last.place),
            ),
            event=last,
            fix=Fix(description="call it in a finally block (or a context manager) around the training"),
        )


def _made_by_others(trace: Predicted) -> tuple[str, ...]:
    """Return the processes that train with a group which a library made, Accelerate's ``PartialState()`` say."""
    trained = {event.process for event in trace.of(Backward)}
    destroyed = dict.fromkeys(event.process for event in trace.of(GroupDestroyed))
    return tuple(process for process in destroyed if process in trained)


def exception_on_trial(fault: Fault, run: Observed) -> Verdict:
    """See what an exception at an optimiser step did, raised on purpose in a copy of the process."""
    trials = [event for event in run.of(Trial) if event.what == "exception-at-step"]
    finished = [event for event in trials if event.finished]
    if not finished:
        return not_reached(_untried(run, begun=bool(trials)))
    first = next((event for event in finished if not event.destroyed), None)
    if first is not None:
        return confirmed(
            "an exception raised on purpose at an optimiser step left the process group open",
            raised_at=first.place,
            rank=first.rank,
        )
    return refuted(
        "an exception raised on purpose at an optimiser step still destroyed the group", raised_at=finished[0].place
    )


def _untried(run: Observed, *, begun: bool) -> str:
    """Say why no exception was tried out."""
    if begun:
        return "the exception that was tried had not come to its end after four seconds"
    why = next((event.why for event in run.of(Cut) if event.what == TRIED), None)
    if why is not None:
        return f"no exception was tried: {why}"
    steps = len(run.on(0, OptimizerStep))
    if not steps:
        return "no exception was tried: the run came to no optimizer step"
    return f"no exception was tried: rank 0 ended after {steps}, before the last one that is watched: lower --steps"


TRIED = "what an exception would lead to"
"""How the trace names a trial that was left out."""


CHECK = Check(
    name="unprotected-destroy",
    summary="the process group is destroyed, but an exception skips it",
    severity=Severity.NOTE,
    layers=("source", "probe"),
    triggers=(GroupDestroyed,),
    predict=exception_skips_it,
    judge=exception_on_trial,
)

"""A process group that no normal run destroys."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import Ended, GroupDestroyed, GroupInit
from ddpdoctor.facts import owned
from ddpdoctor.facts.group_ends import are_for_all, destroys_of, inits_of, of_a_normal_run, processes
from ddpdoctor.facts.ranks import leave_ranks_out
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, State, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted


def nothing_destroys_it(trace: Predicted) -> Iterator[Fault]:
    """Find the groups that are initialised and that no path of a run without an exception destroys on every rank."""
    if not trace.complete or not trace.entered or owned(trace, "group"):
        return
    for process in processes(trace):
        inits = inits_of(trace, process)
        reached = of_a_normal_run(destroys_of(trace, process))
        if are_for_all(trace, process, reached):
            continue
        further = tuple(Label(place=init.place, text="initialised here too") for init in inits[1:])
        if not reached:
            yield _fault(inits[0], "no path of a normal run destroys this process group", further)
        elif leave_ranks_out(reached):
            partial = _labels(reached, "destroyed on some ranks only")
            yield _fault(
                inits[0], "only some ranks destroy the process group: the others leave it open", (*partial, *further)
            )
        else:
            partial = _labels(reached, "destroyed only if an option is given")
            yield _fault(
                inits[0],
                "with the options at their defaults, nothing destroys this process group",
                (*partial, *further),
                Confidence.MEDIUM,
            )


def _labels(destroys: list[GroupDestroyed], text: str) -> tuple[Label, ...]:
    return tuple(Label(place=event.place, text=text) for event in destroys)


def _fault(
    init: GroupInit, message: str, places: tuple[Label, ...] = (), confidence: Confidence = Confidence.HIGH
) -> Fault:
    return Fault(
        place=init.place,
        message=message,
        confidence=confidence,
        places=places,
        event=init,
        fix=Fix(description="call torch.distributed.destroy_process_group() on every rank, at the end or in a finally"),
    )


def ranks_ended_with_it(fault: Fault, run: Observed) -> Verdict:
    """See whether the ranks that came to their natural end had destroyed the group that they initialised last."""
    changes = [event for event in run if isinstance(event, (GroupInit, GroupDestroyed))]
    last = {event.rank: event for event in changes if event.rank is not None}
    began = {event.rank for event in run.of(GroupInit)}
    if not began:
        return not_reached("no rank initialised a process group")
    holding = {rank for rank, event in last.items() if isinstance(event, GroupInit)}
    ended = {event.rank: event.how for event in run.of(Ended) if event.rank in began and event.rank is not None}
    natural = sorted(rank for rank, how in ended.items() if how in ("natural", "exit"))
    left = [rank for rank in natural if rank in holding]
    if left:
        said = f"rank {left[0]} ended with its process group open"
        if len(left) > 1:
            said = f"ranks {', '.join(map(str, left))} ended with their process groups open"
        return confirmed(said, ranks=left)
    if natural and not holding:
        return refuted("every rank destroyed the process group before it ended", ranks=natural)
    how = ", ".join(sorted(set(ended.values()))) or "still running"
    return not_reached(f"the ranks did not come to their natural end ({how})")


def every_rank_left_it_open(run: Observed) -> Iterator[Fault]:
    """Report a group that the script makes and that all ranks had open at their natural end, whatever decided it.

    What stands in a loop is not counted on: the run ends loops early, and may have ended one before its destroy.
    """
    for program in run.predicted:
        made = [init for init in run.of(GroupInit) if seen_at(program.of(GroupInit), init.place)]
        looped = any(event.loops for event in program.of(GroupDestroyed))
        if not made or owned(program, "group") or looped or any(nothing_destroys_it(program)):
            continue
        fault = _fault(made[0], "every rank of the run ended with this process group open")
        verdict = ranks_ended_with_it(fault, run)
        if verdict.state is State.CONFIRMED and _natural(run) == list(run.ranks) == verdict.evidence["ranks"]:
            yield fault.with_(verdict=verdict)
            return


def _natural(run: Observed) -> list[int]:
    return sorted({event.rank for event in run.of(Ended) if event.rank is not None and event.how == "natural"})


CHECK = Check(
    name="process-group-not-destroyed",
    summary="a process group is initialised and no path of a normal run destroys it",
    severity=Severity.WARNING,
    layers=("source", "probe"),
    triggers=(GroupInit,),
    predict=nothing_destroys_it,
    judge=ranks_ended_with_it,
    observe=every_rank_left_it_open,
)

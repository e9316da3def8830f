"""A process group that no normal run destroys."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Ended, GroupDestroyed, GroupInit
from ddpdoctor.facts import leave_ranks_out, owned
from ddpdoctor.finding import Fault, Fix, Label, Severity, State, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted


def nothing_destroys_it(trace: Predicted) -> Iterator[Fault]:
    """Find the groups that are initialised and that no path of a run without an exception destroys on every rank."""
    if not trace.complete or not trace.entered or owned(trace, "group"):
        return
    for process in dict.fromkeys(event.process for event in trace.of(GroupInit)):
        inits = [event for event in trace.of(GroupInit) if event.process == process]
        destroys = [
            event for event in trace.of(GroupDestroyed) if event.process == process and not event.is_within("except")
        ]
        reached = [event for event in destroys if any(compatible(event.when, init.when) for init in inits)]
        if reached and not leave_ranks_out(reached):
            continue
        further = tuple(Label(place=init.place, text="initialised here too") for init in inits[1:])
        if reached:
            yield _fault(
                inits[0], "only some ranks destroy the process group: the others leave it open", further, reached
            )
        else:
            yield _fault(inits[0], "no path of a normal run destroys this process group", further, reached)


def _fault(init: GroupInit, message: str, further: tuple[Label, ...], destroys: list[GroupDestroyed]) -> Fault:
    partial = tuple(Label(place=event.place, text="destroyed on some ranks only") for event in destroys)
    return Fault(
        place=init.place,
        message=message,
        places=(*partial, *further),
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
        ranks = ", ".join(map(str, left))
        return confirmed(f"rank {ranks} ended naturally with its process group open", ranks=left)
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
        fault = _fault(made[0], "every rank of the run ended with this process group open", (), [])
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

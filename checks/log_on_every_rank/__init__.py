"""An experiment tracker that every rank starts for itself."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import TrackerStarted
from ddpdoctor.facts import in_group, is_distributed, is_rank_process
from ddpdoctor.facts.ranks import guarded_by_rank, left_to_some_ranks, runs_distributed
from ddpdoctor.finding import Fault, Fix, Severity
from ddpdoctor.trace import Predicted


def every_rank_logs(trace: Predicted) -> Iterator[Fault]:
    """Find the trackers that all ranks start under one name."""
    if not is_distributed(trace):
        return
    started = trace.of(TrackerStarted)
    for event in started:
        if event.apart or left_to_some_ranks(trace, event) or guarded_by_rank(trace, started, event):
            continue
        if not is_rank_process(trace, event) or not runs_distributed(event):
            continue
        if not any(True for _ in in_group(trace, event)):
            continue
        yield Fault(
            place=event.place,
            message=_message(event.by),
            event=event,
            fix=Fix(description="start it on rank 0 only, or put the rank into its name (with wandb: group=)"),
        )


def _message(call: str) -> str:
    name = ".".join(call.split(".")[-2:]) if not call.endswith("SummaryWriter") else "SummaryWriter"
    if name == "SummaryWriter":
        return "every rank writes its own event file into this folder: TensorBoard draws their curves as one zigzag"
    return f"every rank calls {name}(): the tracker gets as many runs as there are ranks"


CHECK = Check(
    name="log-on-every-rank",
    summary="every rank starts the experiment tracker",
    severity=Severity.NOTE,
    layers=("source",),
    triggers=(TrackerStarted,),
    predict=every_rank_logs,
)

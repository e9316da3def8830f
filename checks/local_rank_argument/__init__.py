"""``--local_rank``: the argument that torch.distributed.launch passed, and torchrun does not."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import EnvRead, FrameworkOwns, GroupInit, OptionDefined, ProcessStarted
from ddpdoctor.facts import is_distributed
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted

SPELLINGS = frozenset({"--local_rank", "--local-rank"})


def launcher_argument_is_parsed(trace: Predicted) -> Iterator[Fault]:
    """Find the option, and tell whether the environment variable that replaced it is read as well."""
    if not is_distributed(trace) or _ranks_are_started_here(trace) or _is_for_deepspeed(trace):
        return
    reads = any(event.name == "LOCAL_RANK" for event in trace.of(EnvRead))
    for event in trace.of(OptionDefined):
        spelled = SPELLINGS & set(event.flags)
        if not spelled or (len(spelled) == 2 and reads):
            continue
        name = sorted(spelled)[0]
        if reads:
            message = (
                f"{name} is parsed beside LOCAL_RANK: torchrun never passes it, and launchers spell it in two ways"
            )
        else:
            message = (
                f"{name} is parsed and LOCAL_RANK is never read: under torchrun every rank keeps the option's default"
            )
        listed = event.written is not None and not event.place.covers(event.written)
        yield Fault(
            place=event.written if event.written is not None and listed else event.place,
            message=message,
            severity=Severity.NOTE if reads else None,
            places=(Label(place=event.place, text="given to the parser here"),) if listed else (),
            event=event,
            fix=Fix(description='read int(os.environ["LOCAL_RANK"]), and start with torchrun'),
        )


def _ranks_are_started_here(trace: Predicted) -> bool:
    """Whether every group is made in a process that the script starts: no launcher has to pass anything."""
    children = {started.child for started in trace.of(ProcessStarted)}
    inits = trace.of(GroupInit)
    return bool(inits) and all(init.process in children for init in inits)


def _is_for_deepspeed(trace: Predicted) -> bool:
    """Whether DeepSpeed is used: its launcher passes ``--local_rank`` to this day (deepspeed/launcher/launch.py)."""
    return any(event.name.startswith("deepspeed.") for event in trace.of(FrameworkOwns))


CHECK = Check(
    name="local-rank-argument",
    summary="--local_rank is parsed: torchrun does not pass it",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(OptionDefined,),
    predict=launcher_argument_is_parsed,
)

"""Every rank names the same GPU, by a number in the code."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import (
    DeviceSelected,
    DeviceUsed,
    EnvRead,
    EnvSet,
    Event,
    GroupInit,
    ModelMoved,
    ModelWrapped,
    ProcessStarted,
)
from ddpdoctor.facts import in_group, owned, replicas, uses_nccl
from ddpdoctor.facts.gpus import sees_its_own_gpus
from ddpdoctor.facts.launch import is_alone, started_here, tells_ranks_of_a_node_apart
from ddpdoctor.facts.ranks import can_set_up_ranks, for_some_ranks_only
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Value, alternatives, is_none


def ranks_name_one_gpu(trace: Predicted) -> Iterator[Fault]:
    """Find, in each process with an NCCL group, the number in the code that puts its model onto one GPU."""
    if owned(trace, "device") or any(event.name.startswith("SLURM_") for event in trace.of(EnvRead)):
        return  # under SLURM each task may see a GPU of its own
    for process in dict.fromkeys(event.process for event in trace.of(GroupInit)):
        if sees_its_own_gpus(trace, process) or started_here(trace, process) == 1 or _runs_alone(trace, process):
            continue
        found = _model_put_on_one(trace, process) or _one_selected(trace, process)
        if found is not None:
            yield _fault(trace, *found)


def _runs_alone(trace: Predicted, process: str) -> bool:
    """Whether a process is the script's own, which does by itself what the ranks that it starts do together."""
    children = {event.child for event in trace.of(ProcessStarted)}
    return process not in children and any(init.process in children for init in trace.of(GroupInit))


def _model_put_on_one(trace: Predicted, process: str) -> tuple[Event, int, Event] | None:
    """Return what puts a model that is wrapped on a GPU with one number: its move, or the wrap itself."""
    for wrap in replicas(trace):
        if wrap.process != process or not _meets_others(trace, wrap):
            continue
        moves = list(_moves(trace, wrap))
        uses = list(_uses(trace, moves[-1], wrap)) if moves else []
        numbers = {None if use.index is None else _number(use.index) for use in uses}
        devices = wrap.options.get("device_ids")
        if len(numbers) == 1 and None not in numbers:
            return uses[0], next(number for number in numbers if number is not None), wrap
        if not moves and isinstance(devices, Constant) and isinstance(devices.value, tuple) and len(devices.value) == 1:
            number = _number(Constant(value=devices.value[0]))
            if number is not None:
                return wrap, number, wrap
    return None


def _moves(trace: Predicted, wrap: ModelWrapped) -> Iterator[ModelMoved]:
    """Yield what puts the model, or any part of it, onto a device in the process of its wrap and before it."""
    for event in trace.of(ModelMoved):
        named = event.device is not None and event.process == wrap.process and event.order < wrap.order
        if named and event.model in (*wrap.parts, *wrap.inside) and compatible(event.when, wrap.when):
            yield event


def _uses(trace: Predicted, move: ModelMoved, wrap: ModelWrapped) -> Iterator[DeviceUsed]:
    """Yield the GPUs that a move can mean, where the wrap is reached; none where it need not be made on every rank."""
    if for_some_ranks_only(move):
        return
    for use in trace.of(DeviceUsed):
        same = (use.place, use.stack, use.process) == (move.place, move.stack, move.process)
        if same and compatible(use.when, wrap.when):
            yield use


def _one_selected(trace: Predicted, process: str) -> tuple[Event, int, Event] | None:
    """Return the selection of a GPU by its number, where no other follows and nothing names one by rank."""
    selected = [event for event in trace.of(DeviceSelected) if event.process == process]
    used = [event.index for event in trace.of(DeviceUsed) if event.process == process and event.index is not None]
    if not selected or any(not isinstance(index, Constant) for index in used):
        return None
    last = selected[-1]
    number = _number(last.index)
    if number is None or for_some_ranks_only(last) or last.how.startswith("torch.cuda.device"):
        return None
    if any(_number(event.index) != number for event in selected):
        return None
    inits = list(_groups(trace, last))
    return (last, number, inits[0]) if inits else None


def _meets_others(trace: Predicted, event: Event) -> bool:
    return any(True for _ in _groups(trace, event))


def _groups(trace: Predicted, event: Event) -> Iterator[GroupInit]:
    """Yield the groups of several ranks over NCCL that an event can happen with."""
    if can_set_up_ranks(event.when):
        for init in in_group(trace, event):
            if not uses_nccl(init) or is_alone(trace, init, event.when) or not can_set_up_ranks(init.when):
                continue
            if _rank_is_in_the_text(trace, init):
                continue
            if is_none(init.group_rank) or not isinstance(init.group_rank, Constant):  # else one process has that rank
                yield init


def _rank_is_in_the_text(trace: Predicted, init: GroupInit) -> bool:
    """Whether the program sets RANK to a number: then each machine has its own text, and a GPU of its own."""
    return any(
        one.name == "RANK" and isinstance(one.value, Constant) and not one.fallback and one.when <= init.when
        for one in trace.before(init, EnvSet)
    )


def _number(index: Value) -> int | None:
    """Return the number of a GPU where it is certainly that one."""
    values = [option.value if isinstance(option, Constant) else None for _, option in alternatives(index)]
    first = values[0] if values else None
    if isinstance(first, bool) or not isinstance(first, int) or any(value != first for value in values):
        return None
    return first


def _fault(trace: Predicted, event: Event, number: int, other: Event) -> Fault:
    what = "selects" if isinstance(event, DeviceSelected) else "puts its model on"
    label = "wrapped here" if isinstance(other, ModelWrapped) else "the group of all ranks"
    return Fault(
        place=event.place,
        message=f"every rank {what} GPU {number}: NCCL refuses two ranks on one GPU (Duplicate GPU detected)",
        confidence=Confidence.HIGH if tells_ranks_of_a_node_apart(trace) else Confidence.MEDIUM,
        places=() if other is event else (Label(place=other.place, text=label),),
        event=event,
        fix=Fix(description='use the rank on the node: torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))'),
    )


def gpus_of_the_ranks(fault: Fault, run: Observed) -> Verdict:
    """Compare the numbers of the GPUs that the ranks named here."""
    seen: dict[int, Value] = {}
    named: list[DeviceSelected | DeviceUsed] = [*run.of(DeviceSelected), *run.of(DeviceUsed)]
    for event in named:
        if event.rank is not None and event.index is not None and seen_at([event], fault.place):
            seen.setdefault(event.rank, event.index)
    numbers = {rank: index.value for rank, index in seen.items() if isinstance(index, Constant) and not is_none(index)}
    if len(numbers) < 2:
        return not_reached("fewer than two ranks came to this line")
    gpus = {f"rank {rank}": number for rank, number in sorted(numbers.items())}
    if len(set(numbers.values())) < len(numbers):
        return confirmed(f"ranks {' and '.join(map(str, sorted(numbers)))} named the same GPU", gpus=gpus)
    return refuted("each rank named a GPU of its own", gpus=gpus)


CHECK = Check(
    name="shared-device",
    summary="every rank names the same GPU, by a number in the code",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(ModelMoved, DeviceSelected, ModelWrapped),
    predict=ranks_name_one_gpu,
    judge=gpus_of_the_ranks,
)

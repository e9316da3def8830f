"""NCCL is initialised and nothing says which GPU is this rank's before the first use of one."""

import math
from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible, together
from ddpdoctor.events import (
    Backward,
    Collective,
    DeviceSelected,
    DeviceUsed,
    Event,
    GroupInit,
    ModelMoved,
    ModelWrapped,
)
from ddpdoctor.facts import one_device_each, owned, shows_nothing, uses_nccl, uses_nccl_alone
from ddpdoctor.facts.ranks import for_some_ranks_only
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, callers, confirmed, not_reached, refuted
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Value, is_none

GUESSING = frozenset(
    {
        "barrier",
        "monitored_barrier",
        "all_gather_object",
        "gather_object",
        "broadcast_object_list",
        "scatter_object_list",
    }
)
"""Collectives without a tensor of the user's: NCCL must guess the device they run on."""
MOVES = {
    "module.cuda": "model.cuda()",
    "tensor.cuda": ".cuda()",
    "module.to": "model.to(device)",
    "tensor.to": ".to(device)",
}


def device_is_left_to_chance(trace: Predicted) -> Iterator[Fault]:
    """Find the first use of a device that the rank has not selected, in each process with an NCCL group."""
    if owned(trace, "device"):
        return
    for process in dict.fromkeys(event.process for event in trace.of(GroupInit)):
        inits = [event for event in trace.of(GroupInit) if event.process == process and uses_nccl(event)]
        if not inits or one_device_each(trace, process):
            continue
        fault = _first_fault(trace, inits)
        if fault is not None:
            yield fault


def _first_fault(trace: Predicted, inits: list[GroupInit]) -> Fault | None:
    init = inits[0]
    uses = [event for event in trace if event.process == init.process and _is_use(event)]
    uses = [event for event in uses if any(compatible(event.when, one.when) for one in inits)]
    unselected = [event for event in uses if not (_selects(trace, event) or _is_moved_in_time(trace, event))]
    for event in unselected:
        if isinstance(event, DeviceUsed) and event.index is None and _counts(trace, event, init):
            if _may_be_its_own(trace, event, init):
                continue
            message = f"{MOVES.get(event.by, event.by)} takes the current device, and no rank has selected one"
            return _fault(event, init, f"{message}: all use GPU 0", Severity.ERROR)
    bound = any(one.device is not None and not is_none(one.device) for one in inits)
    guesses = not bound and any(uses_nccl_alone(one) for one in inits)
    for event in unselected if guesses else ():
        if isinstance(event, Collective) and event.order > init.order and _must_guess(uses, event):
            message = f"{event.op}() must guess the device of this rank: none was selected"
            return _fault(event, init, message, Severity.WARNING)
    named = next((event for event in uses if isinstance(event, DeviceUsed) and _by_rank(event.index)), None)
    if named is None or bound or any(True for event in trace.of(DeviceSelected) if event.process == init.process):
        return None
    message = "every device is named here, but the current device stays GPU 0 on every rank"
    return _fault(named, init, message, Severity.NOTE)


def _may_be_its_own(trace: Predicted, event: DeviceUsed, init: GroupInit) -> bool:
    """Whether the current device can be the right one: on the first rank of a node, or where unknown code selects it.

    Who makes a model of which nothing is known may have selected its device.
    """
    in_group = together(event.when, init.when)
    alone = in_group is not None and for_some_ranks_only(event.with_(when=in_group))
    return alone or any(wrap.place == event.place and shows_nothing(wrap) for wrap in trace.of(ModelWrapped))


def _is_use(event: Event) -> bool:
    return isinstance(event, (DeviceUsed, ModelWrapped)) or (isinstance(event, Collective) and event.group is None)


def _counts(trace: Predicted, event: DeviceUsed, init: GroupInit) -> bool:
    """Whether a use without an index is one of the training with a group.

    Not what a module tries out when it is imported, nor what is trained to its end before there is a group.
    """
    if event.order < init.order and any(event.order < one.order < init.order for one in trace.with_(event, Backward)):
        return False
    return event.by in MOVES or (event.order > init.order and not event.is_within("try"))


def _must_guess(uses: list[Event], event: Collective) -> bool:
    return event.op in GUESSING and event.device is None and not _device_known(uses, event)


def _selects(trace: Predicted, event: Event) -> bool:
    """Whether the rank selects a device before, be it under an option: then no option's absence is held against it."""
    return any(one.process == event.process and one.order < event.order for one in trace.of(DeviceSelected))


def _is_moved_in_time(trace: Predicted, event: Event) -> bool:
    """Whether a model is moved again once its rank has selected a device, before any rank meets another in NCCL."""
    if not isinstance(event, DeviceUsed) or not event.by.startswith("module."):
        return False
    moves = [one for one in trace.of(ModelMoved) if one.process == event.process and compatible(one.when, event.when)]
    moved = {one.model for one in moves if one.place == event.place}
    later = [one for one in trace if one.order > event.order and one.process == event.process]
    met = next((one.order for one in later if isinstance(one, (Collective, ModelWrapped))), math.inf)
    selected = (one for one in later if isinstance(one, DeviceSelected) and compatible(one.when, event.when))
    first = next((one.order for one in selected), met)
    return any(first < one.order < met for one in moves if one.model in moved)


def _device_known(uses: list[Event], event: Event) -> bool:
    """Whether an earlier collective on a tensor told NCCL the device."""
    earlier = (one for one in uses if one.order < event.order)
    return any(
        isinstance(one, ModelWrapped) or (isinstance(one, Collective) and one.op not in GUESSING) for one in earlier
    )


def _by_rank(index: Value | None) -> bool:
    return index is not None and "rank" in index.taint


def _fault(event: Event, init: GroupInit, message: str, severity: Severity) -> Fault:
    return Fault(
        place=event.place,
        message=message,
        severity=severity,
        places=(*callers(event, most=2), Label(place=init.place, text="NCCL is initialised here")),
        event=event,
        fix=Fix(
            description="call torch.cuda.set_device(local_rank) before the first use, and pass device_id= to the init"
        ),
    )


def ranks_shared_a_device(fault: Fault, run: Observed) -> Verdict:
    """See which device was the current one when each rank first used one."""
    first = {rank: _first_use(run, rank, fault) for rank in run.ranks}
    came = {rank: event for rank, event in first.items() if event is not None}
    if not came:
        return not_reached("no rank came to this line")
    selected = {
        rank: [one for one in run.on(rank, DeviceSelected) if one.time <= event.time] for rank, event in came.items()
    }
    without = sorted(rank for rank, events in selected.items() if not events)
    if not without:
        return refuted("every rank had selected a device before", ranks=sorted(came))
    ranks = " and ".join(map(str, without))
    return confirmed(
        f"rank {ranks} came here with the current device still GPU 0",
        current_device=dict.fromkeys(without, 0),
        line=fault.place,
    )


def _first_use(run: Observed, rank: int, fault: Fault) -> Event | None:
    events = [*run.on(rank, DeviceUsed), *run.on(rank, Collective), *run.on(rank, ModelWrapped)]
    here = [event for event in events if fault.place.covers(event.place)]
    return min(here, key=lambda event: event.time) if here else None


CHECK = Check(
    name="no-device-selected",
    summary="NCCL is used before the rank has selected its GPU",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(GroupInit,),
    predict=device_is_left_to_chance,
    judge=ranks_shared_a_device,
)

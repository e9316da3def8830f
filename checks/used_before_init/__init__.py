"""What needs the process group, reached before it is initialised."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition, Literal
from ddpdoctor.check import Check
from ddpdoctor.condition import any_of, as_formula, asks_for_group, assume, compatible, negation
from ddpdoctor.events import (
    MAIN,
    Collective,
    Event,
    GroupAsked,
    GroupInit,
    ModelWrapped,
    ProcessStarted,
    Raised,
    SamplerBuilt,
    Unfollowed,
)
from ddpdoctor.facts import owned
from ddpdoctor.facts.ranks import can_hold_alone, runs_alone, runs_distributed
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import is_none

DDP = "torch.nn.parallel.DistributedDataParallel"
SAMPLER = "torch.utils.data.DistributedSampler"
OTHERS = frozenset({"compute", "wait_for_everyone", "gather_for_metrics"})
"""What other libraries call a collective, and do without a group as well."""
LAUNCHED = frozenset({"rank", "world"})
"""The kinds of the tests that ask how the processes were started."""
SAYS = "Default process group has not been initialized"
"""torch/distributed/distributed_c10d.py: ``_get_default_group``."""


def group_comes_too_late(trace: Predicted) -> Iterator[Fault]:
    """Find, in each process, the first thing that needs a group which no call before it has made."""
    if not trace.entered or owned(trace, "group"):
        return
    told = set()
    for event in trace:
        what = _needs_group(event)
        if what is None or event.process in told or _is_provided_for(event):
            continue
        forgotten = _is_forgotten_alone(trace, event) or _is_forgotten_by_default(trace, event)
        if not (_can_leave_out(trace, event) if forgotten else _comes_first(trace, event)):
            continue
        left_out = forgotten or _leaves_all_out(trace, event)
        if not left_out and not runs_distributed(event):
            continue
        later = next((init for init in trace.of(GroupInit) if _follows(trace, init, event)), None)
        if later is None and not left_out and not _nothing_is_missing(trace, event):
            continue
        told.add(event.process)
        yield _fault(event, what, later, tuple(trace.of(GroupInit)))


def _needs_group(event: Event) -> str | None:
    """Return what an event is called that asks for the default process group."""
    if isinstance(event, ModelWrapped) and event.how == DDP and is_none(event.options.get("process_group")):
        return "DistributedDataParallel"
    if isinstance(event, SamplerBuilt) and event.sampler.type == SAMPLER:
        return "DistributedSampler" if event.replicas is None or event.sampler_rank is None else None
    if (
        isinstance(event, Collective)
        and event.origin != "within"
        and event.group is None
        and event.op not in OTHERS
        and " " not in event.op
    ):
        return f"{event.op}()"
    return f"{event.by}()" if isinstance(event, GroupAsked) else None


def _is_provided_for(event: Event) -> bool:
    """Whether a test or a handler provides for there being no group."""
    return event.is_within("try") or any(map(asks_for_group, event.when))


def _comes_first(trace: Predicted, event: Event) -> bool:
    """Whether no group can be there, as none was made before."""
    return not any(
        init.order < event.order and init.process in (event.process, MAIN) and compatible(init.when, event.when)
        for init in trace.of(GroupInit)
    )


def _can_leave_out(trace: Predicted, event: Event) -> bool:
    """Whether a run can come here without having come to a line that makes a group."""
    left_out: Condition | None = event.when
    for init in trace.of(GroupInit):
        if left_out is not None and init.process in (event.process, MAIN):
            left_out = assume(left_out, negation(as_formula(init.when)))
    return left_out is not None


def _leaves_all_out(trace: Predicted, event: Event) -> bool:
    """Whether a run that comes here, one of one process say, cannot have come to any line that makes a group."""
    inits = trace.of(GroupInit)
    if not isinstance(event, (ModelWrapped, SamplerBuilt)) or not trace.complete or _may_be_made_unseen(trace, event):
        return False
    return bool(inits) and can_hold_alone(event.when) and not any(compatible(one.when, event.when) for one in inits)


def _is_forgotten_alone(trace: Predicted, event: Event) -> bool:
    """Whether a run of one process comes here, which the program provides for: it makes no group then, and no replica.

    ``if distributed: model = DDP(model)``, and the sampler is made, or the other ranks are waited for, in any case.
    """
    if not isinstance(event, (SamplerBuilt, Collective)) or not trace.complete or runs_alone(event) is False:
        return False
    if runs_alone(event.with_(when=_of_the_launch(event.when))) is not True:
        return False
    inits = [init for init in trace.of(GroupInit) if init.process == event.process]
    wraps = [wrap for wrap in trace.of(ModelWrapped) if wrap.process == event.process and wrap.how == DDP]
    return bool(inits and wraps) and all(runs_alone(one) is False for one in (*inits, *wraps))


def _of_the_launch(condition: Condition) -> Condition:
    """Return what a condition says of how the processes were started.

    Of several ways to meet a test some can be out of the question: ``not sharded or distributed`` where it is sharded.
    """
    found = {one for one in condition if one.atom.kind in LAUNCHED}
    for one in condition:
        ways = [way for way in one.atom.definition or () if one.holds]
        left = [way for way in ways if not any(part.opposite() in condition for part in way)]
        rest = any_of(map(as_formula, left)) if len(left) < len(ways) else True
        if isinstance(rest, Literal) and rest.atom.kinds <= LAUNCHED | {"any"}:
            found.add(rest)
    return frozenset(found)


def _is_forgotten_by_default(trace: Predicted, event: Event) -> bool:
    """Whether a run without options comes here, which the program provides for: it makes no group then, and no replica.

    ``if args.ddp: model = DDP(model)``, and the trainer waits for the other ranks in any case.
    """
    if not isinstance(event, (Collective, GroupAsked)) or not trace.complete or not _holds_plainly(event):
        return False
    inits = [init for init in trace.of(GroupInit) if init.process in (event.process, MAIN)]
    wraps = [wrap for wrap in trace.of(ModelWrapped) if wrap.process == event.process and wrap.how == DDP]
    return bool(inits and wraps) and all(holds_by_default(as_formula(one.when)) is False for one in (*inits, *wraps))


def _holds_plainly(event: Event) -> bool:
    """Whether no option and no launcher keeps a run from coming to an event."""
    options = frozenset(one for one in event.when if one.atom.by_default is not None or one.atom.definition is not None)
    return holds_by_default(as_formula(options)) is True and runs_alone(event) is not False


def _follows(trace: Predicted, init: GroupInit, event: Event) -> bool:
    """Whether a group is made afterwards, in the same process or in one that it starts."""
    children = {one.child for one in trace.of(ProcessStarted) if one.process == event.process}
    same = init.process == event.process or (init.process in children and not _may_be_made_unseen(trace, event))
    return same and init.order > event.order and compatible(init.when, event.when)


def _nothing_is_missing(trace: Predicted, event: Event) -> bool:
    """Whether the program was read to its end, initialises no group, and calls nothing that may do so unseen."""
    return trace.complete and not trace.of(GroupInit) and not _may_be_made_unseen(trace, event)


def _may_be_made_unseen(trace: Predicted, event: Event) -> bool:
    unknown = (call for call in trace.of(Unfollowed) if not call.objects and call.order < event.order)
    return any(compatible(call.when, event.when) for call in unknown)


def _fault(event: Event, what: str, later: GroupInit | None, inits: tuple[GroupInit, ...]) -> Fault:
    places: tuple[Label, ...]
    if later is None and inits:
        message = f"{what} needs the process group, and a run that comes here initialises none: it raises ValueError"
        places = (Label(place=inits[0].place, text="left out by such a run"),)
    elif later is None:
        message = f"{what} needs the process group, and no line that runs initialises one: it raises ValueError here"
        places = ()
    elif later.process != event.process:
        message = f"{what} needs the process group, which only the started processes initialise: it raises ValueError"
        places = (Label(place=later.place, text="initialised there"),)
    else:
        message = f"{what} needs the process group, which is initialised only afterwards: it raises ValueError here"
        places = (Label(place=later.place, text="initialised here"),)
    return Fault(
        place=event.place,
        message=message,
        places=places,
        event=event,
        fix=Fix(description="call init_process_group first, in every process that trains"),
    )


def raised_for_want_of_a_group(fault: Fault, run: Observed) -> Verdict:
    """See whether the line raised, or a group had been made in the rank that came to it."""
    raised = [event for event in seen_at(run.of(Raised), fault.place) if SAYS in event.message]
    if raised:
        ranks = sorted({event.rank for event in raised if event.rank is not None})
        return confirmed(f"{raised[0].type}: {SAYS}", *raised, line=fault.place, ranks=ranks or "none: the parent")
    here = [event for kind in (ModelWrapped, SamplerBuilt, Collective) for event in seen_at(run.of(kind), fault.place)]
    left_out = (_leaves_all_out, _is_forgotten_alone, _is_forgotten_by_default)
    if any(
        isinstance(fault.event, Event) and any(rule(one, fault.event) for rule in left_out) for one in run.predicted
    ):
        return not_reached("the run made a group: it was not one that leaves it out")
    for event in here:
        if any(init.rank == event.rank and init.time < event.time for init in run.of(GroupInit)):
            return refuted("a group had been initialised before", rank=event.rank)
    return not_reached("no rank came to this line")


CHECK = Check(
    name="used-before-init",
    summary="the process group is used before init_process_group",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(ModelWrapped, SamplerBuilt, Collective, GroupAsked),
    predict=group_comes_too_late,
    judge=raised_for_want_of_a_group,
)

"""A process group that is not told all it needs to find the other ranks."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import ANY_VARIABLE, MAIN, EnvRead, EnvSet, GroupInit, ProcessStarted, Raised, Unfollowed
from ddpdoctor.facts import owned
from ddpdoctor.facts.joined import has_joined
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Symbol, Value, alternatives, is_none

ADDRESS = ("MASTER_ADDR", "MASTER_PORT")
SAYS = ("parameter missing", "expected, but not set")
"""torch/distributed/rendezvous.py: ``_tcp_rendezvous_handler``, ``_file_rendezvous_handler``,
``_env_rendezvous_handler``."""


def ranks_cannot_meet(trace: Predicted) -> Iterator[Fault]:
    """Find groups of an address without a rank or a size, and groups of started processes without an address."""
    if not trace.entered or owned(trace, "group"):
        return
    told = set()
    for init in trace.of(GroupInit):
        if init.place in told or init.store or init.is_within("try") or has_joined(trace, init):
            continue
        fault = _address_alone(init) or _nothing_in_the_environment(trace, init)
        if fault is not None:
            told.add(init.place)
            yield fault


def _address_alone(init: GroupInit) -> Fault | None:
    """Whether an address is given that says nothing of the rank: then no environment is asked for it."""
    missing = [name for name, value in (("rank", init.group_rank), ("world_size", init.world_size)) if is_none(value)]
    if not missing or init.init_method is None:
        return None
    schemes = {_scheme(value) for _, value in alternatives(init.init_method)}
    if not schemes <= {"tcp", "file"}:
        return None
    asked = " and ".join(f"{name}=" for name in missing)
    return Fault(
        place=init.place,
        message=f"without {asked} this raises ValueError: {schemes.pop()}:// takes nothing from the environment",
        event=init,
        fix=Fix(description="pass rank= and world_size=, or leave init_method out under torchrun"),
    )


def _scheme(value: Value) -> str:
    """Return how an init method says that ranks meet; an empty text where it is not known, or says who they are."""
    name = value.value if isinstance(value, Constant) else None
    if isinstance(value, Symbol) and value.name.startswith(('f"tcp://', 'f"file://')):
        name = value.name[2:]
    if not isinstance(name, str) or "rank=" in name or "world_size=" in name:
        return ""
    return name.partition("://")[0]


def _nothing_in_the_environment(trace: Predicted, init: GroupInit) -> Fault | None:
    """Whether a started process asks an environment for its place into which nobody puts it."""
    starts = [event for event in trace.of(ProcessStarted) if event.child == init.process]
    methods = [value for _, value in alternatives(init.init_method)] if init.init_method is not None else []
    by_environment = all(is_none(value) or _scheme(value) == "env" for value in methods)
    if not starts or not by_environment or not trace.complete or _is_set_up_unseen(trace, init):
        return None
    own = [name for name, value in (("RANK", init.group_rank), ("WORLD_SIZE", init.world_size)) if is_none(value)]
    missing = [name for name in (*ADDRESS, *own) if not _is_set(trace, init, name)]
    if not missing or _is_asked_of_the_user(trace, missing) or _is_tested([init, *starts]):
        return None
    return Fault(
        place=init.place,
        message=(
            f"the processes that are started here get no {' and no '.join(missing)}: no launcher sets it for them, "
            "and init_process_group raises ValueError"
        ),
        places=tuple(Label(place=event.place, text="started here") for event in starts[:1]),
        event=init,
        fix=Fix(description="set MASTER_ADDR and MASTER_PORT, and pass rank= and world_size=; or start with torchrun"),
    )


def _is_set(trace: Predicted, init: GroupInit, name: str) -> bool:
    before = (event for event in trace.of(EnvSet) if event.order < init.order and compatible(event.when, init.when))
    return any(event.name in (name, ANY_VARIABLE) and event.process in (init.process, MAIN) for event in before)


def _is_asked_of_the_user(trace: Predicted, missing: list[str]) -> bool:
    """Whether the program reads what is missing, or its rank, itself: who starts it is to set them."""
    names = {"RANK", "WORLD_SIZE", "LOCAL_RANK", *missing}
    return any(event.name in names or event.name.startswith("SLURM_") for event in trace.of(EnvRead))


def _is_tested(events: list[GroupInit | ProcessStarted]) -> bool:
    """Whether a test that the address is there stands before."""
    return any("MASTER_" in literal.atom.text for event in events for literal in event.when)


def _is_set_up_unseen(trace: Predicted, init: GroupInit) -> bool:
    return any(not call.objects and call.order < init.order for call in trace.of(Unfollowed))


def init_raised(fault: Fault, run: Observed) -> Verdict:
    """See whether the initialisation raised for want of something, or a group was made."""
    raised = [event for event in seen_at(run.of(Raised), fault.place) if any(word in event.message for word in SAYS)]
    if raised:
        return confirmed(f"{raised[0].type}: {raised[0].message}", *raised, line=fault.place)
    if seen_at(run.of(GroupInit), fault.place):
        return refuted("the group was initialised: the run had set what was missing")
    return not_reached("no rank came to this line")


CHECK = Check(
    name="incomplete-rendezvous",
    summary="a process group that is not told how to find the other ranks",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(GroupInit,),
    predict=ranks_cannot_meet,
    judge=init_raised,
)

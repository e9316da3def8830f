"""Which ranks reach an event, which it leaves out, and whether others make that good."""

from collections.abc import Iterable, Sequence

from ddpdoctor.atom import Condition, Literal
from ddpdoctor.condition import as_formula, asks_for_group, together
from ddpdoctor.events import Event, GroupInit, ProcessStarted
from ddpdoctor.facts import in_group
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import divides_ranks, holds_for
from ddpdoctor.value import alternatives
from ddpdoctor.world import SINGLE, WORLDS, Member

ALONE = (*SINGLE, Member("torchrun", 0, 0, 0, 1, 1))
"""The one process of a script that nothing launches, and of a launcher that starts one."""


def runs_distributed(event: Event) -> bool:
    """Whether an event can happen in any distributed launch world at all."""
    return can_hold_among_ranks(event.when)


def can_hold_among_ranks(condition: Condition) -> bool:
    """Whether a condition can hold in any distributed launch world at all, where there is a group."""
    formula = as_formula(condition)
    return any(holds_for(formula, member) is not False for world in WORLDS.values() for member in world)


def can_hold_alone(condition: Condition) -> bool:
    """Whether a condition can hold in a run of one process."""
    return any(holds_for(as_formula(condition), member) is not False for member in ALONE)


def runs_alone(event: Event) -> bool | None:
    """Whether a run of one process, started without a launcher, comes to an event; ``None`` when that is not known."""
    return holds_for(as_formula(event.when), SINGLE[0])


def can_set_up_ranks(condition: Condition) -> bool:
    """Whether a condition can hold in a distributed launch world before there is a group."""
    formula = as_formula(frozenset(one for one in condition if not asks_for_group(one)))
    return any(holds_for(formula, member) is not False for world in WORLDS.values() for member in world)


def for_some_ranks_only(event: Event) -> bool:
    """Whether only some ranks reach an event, in some launch world."""
    return divides_ranks(event.when) is not None


def among_ranks(trace: Predicted, event: Event) -> tuple[Event, ...]:
    """Return an event as it happens in a run of several ranks: under what its process group was initialised under too.

    ``if not cfg.distributed or rank == 0`` lets one rank of several through, whatever is known of the option, and so
    does ``if cfg.gpus == 1 or rank == 0`` where that is how many processes are started.
    """
    several = _of_more_than_one(trace, event)
    inits = {init.when | several for init in in_group(trace, event)}
    both = (together(event.when, when) for when in inits)
    return tuple(event.with_(when=when) for when in both if when is not None) or (event,)


def _of_more_than_one(trace: Predicted, event: Event) -> Condition:
    """Return what the tests before an event on how many processes there are come to where there are several."""
    counts = [start.count for start in trace.of(ProcessStarted)] + [init.world_size for init in trace.of(GroupInit)]
    texts = {f"{value.text()} == 1" for count in counts if count is not None for _, value in alternatives(count)}
    atoms = (atom for literal in event.when for atom in (literal.atom, *literal.atom.inside))
    return frozenset(Literal(atom, False) for atom in atoms if atom.text in texts)


def left_to_some_ranks(trace: Predicted, event: Event) -> bool:
    """Whether only some ranks of a run of several reach an event, in some launch world."""
    return for_some_ranks_only(event) or all(map(for_some_ranks_only, among_ranks(trace, event)))


def reaching(condition: Condition, world: tuple[Member, ...]) -> frozenset[Member]:
    """Return the ranks of a world that can meet a condition."""
    formula = as_formula(condition)
    return frozenset(member for member in world if holds_for(formula, member) is not False)


def excludes(first: Condition, second: Condition) -> bool:
    """Whether no rank meets both of two conditions, in some launch world in which some rank meets each."""
    for world in WORLDS.values():
        here, there = reaching(first, world), reaching(second, world)
        if here and there and not here & there:
            return True
    return False


def completed(event: Event, others: Iterable[Event]) -> bool:
    """Whether the ranks that do not reach an event reach others instead, each once, as the arms of a test do.

    That is asked of runs with the options under which the event happens: after ``if sweep and rank == 0`` the others
    come to the ``else``, to which all come without a sweep.
    """
    options = frozenset(literal for literal in event.when if "rank" not in literal.atom.kinds)
    conditions = [when for other in others if (when := together(other.when, options)) is not None]
    reaches = [[reaching(when, world) for when in conditions] for world in WORLDS.values()]
    for world, there in zip(WORLDS.values(), reaches, strict=True):
        here = reaching(event.when, world)
        if not here or len(here) == len(world):
            continue
        parts = {other - here for other in there if not here <= other}
        if not _made_up_of(frozenset(world) - here, parts):
            return False
    return True


def _made_up_of(whole: frozenset[Member], parts: set[frozenset[Member]]) -> bool:
    """Whether some of the parts make up a whole without overlapping."""
    if not whole:
        return True
    one = next(iter(whole))
    return any(_made_up_of(whole - part, parts) for part in parts if one in part and part <= whole)


def guarded_by_rank(trace: Predicted, events: Sequence[Event], event: Event) -> bool:
    """Whether a test on the rank stands before an event: on this visit of the line, or on one in another process.

    A script that can be started in several ways guards what one rank does for the way that is documented.
    """
    visits = (one for one in events if one.place == event.place and _one_of_several(trace, one))
    return any(one is event or one.process != event.process or one.stack == event.stack for one in visits)


def _one_of_several(trace: Predicted, event: Event) -> bool:
    return _lets_one_in(event) or all(map(_lets_one_in, among_ranks(trace, event)))


def _lets_one_in(event: Event) -> bool:
    return for_some_ranks_only(event) and not lets_several_in(event)


def lets_several_in(event: Event) -> bool:
    """Whether several ranks of one node certainly pass the test before an event, in a world in which not all do."""
    formula = as_formula(event.when)
    for world in WORLDS.values():
        nodes = [member.node for member in world if holds_for(formula, member)]
        if len(set(nodes)) < len(nodes) < len(world):
            return True
    return False


def leave_ranks_out(events: Iterable[Event], among: Event | None = None) -> bool:
    """Whether only some ranks reach any of several events, in some launch world: of those that come to another."""
    events = tuple(events)
    if any(not for_some_ranks_only(event) for event in events):
        return False
    for world in WORLDS.values():
        there = frozenset().union(*(reaching(event.when, world) for event in events))
        if there and (frozenset(world) if among is None else reaching(among.when, world)) - there:
            return True
    return False

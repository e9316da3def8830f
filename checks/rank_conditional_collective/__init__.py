"""A collective that only some ranks reach: they wait in it for ever."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, zip_longest

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible, literals
from ddpdoctor.events import Blocked, Collective, Event, Raised, SubgroupMade
from ddpdoctor.facts import finished, in_group
from ddpdoctor.facts.ranks import completed, excludes, reaching
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, callers, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import divides_ranks
from ddpdoctor.world import WORLDS


def only_some_ranks_call_it(trace: Predicted) -> Iterator[Fault]:
    """Find collectives under a condition on the rank, at any depth of calls, that nothing completes on the others."""
    collectives = [event for event in trace.of(Collective) if event.origin in ("user", "within")]
    partial = [event for event in collectives if event.group is None and divides_ranks(event.when)]
    met = _met_elsewhere(partial, collectives)
    told: set[Collective] = set()
    for event in partial:
        if event in met or event in told:
            continue
        instead = _called_instead(event, collectives)
        told |= {instead} if instead else set()
        yield _fault(event, instead)
    for event, instead in _in_another_order([event for event in partial if event in met], collectives):
        fault = _fault(event, instead)
        yield fault.with_(fix=Fix(description="call the same collectives in the same order in both arms of the test"))
    yield from groups_that_only_some_make(trace)


def _fault(event: Collective, instead: Collective | None) -> Fault:
    who = f"{_who(event)} {event.op}() here and {'wait' if _are_several(event) else 'waits'}"
    others = f"the others call {instead.op}() in its place" if instead else "the others never call it"
    elsewhere = (Label(place=instead.place, text=f"the others call {instead.op}()"),) if instead else ()
    return Fault(
        place=event.place,
        message=f"{who} for ever: {others}",
        places=(*elsewhere, *_decided(event), *callers(event)),
        event=event,
        fix=Fix(description=f"call {event.op}() on every rank: {_way_out(event)}"),
    )


def groups_that_only_some_make(trace: Predicted) -> Iterator[Fault]:
    """Find calls of ``new_group`` that some ranks leave out: torch counts the groups, and names them by that.

    torch/distributed/distributed_c10d.py: ``_process_group_name``, and ``_new_process_group_helper``, which splits the
    communicator of a default group that has a ``device_id`` with all ranks of it.
    """
    made = trace.of(SubgroupMade)
    for event in made:
        others = [one for one in made if one is not event and one.process == event.process]
        if not divides_ranks(event.when) or completed(event, others):
            continue
        split = any(init.device is not None for init in in_group(trace, event))
        later = next((one for one in others if one.order > event.order and not divides_ranks(one.when)), None)
        it, them = ("they", "them") if _are_several(event) else ("it", "it")
        if split:
            then = (
                f"{it} then wait{'' if it == 'they' else 's'} for the others to split NCCL's communicator with {them}"
            )
        else:
            then = (
                f"the next group has another name on {them} than on the others, and each side waits in it for the other"
            )
        yield Fault(
            place=event.place,
            message=f"{_who(event)} new_group() here, which every rank has to call: {then}",
            places=(
                *((Label(place=later.place, text="the next group"),) if later is not None and not split else ()),
                *_decided(event),
                *callers(event),
            ),
            event=event,
            severity=Severity.ERROR if split or later is not None else Severity.WARNING,
            fix=Fix(description=f"call new_group() on every rank, members or not: {_way_out(event)}"),
        )


def _met_elsewhere(partial: list[Collective], collectives: list[Collective]) -> set[Collective]:
    """Return those of the collectives that only some ranks reach that the others make good at another line.

    Each call makes good one other: first those in the same call of a function, as the arms of a test are, then those
    anywhere. A call that is read on several paths, one for each value of something, is one call.
    """
    met = {event for event in partial if any(_is_another_path(event, other) for other in collectives)}
    for event in partial:
        arms = (other for other in collectives if other not in partial and _is_like(event, other))
        if any(completed(event, [arm]) for arm in arms):
            met.add(event)
    for together in (_is_in_the_same_call, _is_like):
        for event in partial:
            if event in met:
                continue
            others = [one for one in partial if one is not event and one not in met and together(event, one)]
            others.sort(key=lambda one: abs(one.order - event.order))
            alone = next((one for one in others if completed(event, [one])), None)
            if alone is not None:
                met |= {event, alone}
            elif completed(event, others):
                met |= {event, *(one for one in others if excludes(event.when, one.when))}
    return met


def _is_another_path(event: Collective, other: Collective) -> bool:
    """Whether this is the same call once more, on a path that ranks take that do not take the other."""
    if (other.place, other.stack, other.process) != (event.place, event.stack, event.process):
        return False
    if compatible(event.when, other.when):
        return False
    rest = (frozenset(world) - reaching(event.when, world) for world in WORLDS.values())
    return all(ranks <= reaching(other.when, world) for ranks, world in zip(rest, WORLDS.values(), strict=True))


def _is_like(event: Collective, other: Collective) -> bool:
    return other.process == event.process and other.op == event.op


def _is_in_the_same_call(event: Collective, other: Collective) -> bool:
    return _is_like(event, other) and other.stack == event.stack


def _called_instead(event: Collective, collectives: list[Collective]) -> Collective | None:
    """Return the other collective that the other ranks call, in the other arm of the test: one fault, seen twice."""
    for other in collectives:
        alike = (other.process, other.group, other.loops) == (event.process, event.group, event.loops)
        if alike and other.order > event.order and other.op != event.op and completed(event, [other]):
            return other
    return None


def _in_another_order(met: list[Collective], collectives: list[Collective]) -> Iterator[tuple[Collective, Collective]]:
    """Yield the first calls that do not match where the arms of a test call the same collectives in another order."""
    arms: dict[tuple[object, ...], list[Collective]] = {}
    for event in met:
        arms.setdefault((event.process, event.stack, event.loops, event.when), []).append(event)
    for (key, mine), (other, theirs) in combinations(arms.items(), 2):
        ops = [event.op for event in mine], [event.op for event in theirs]
        if key[:-1] != other[:-1] or ops[0] == ops[1] or sorted(ops[0]) != sorted(ops[1]):
            continue
        if completed(mine[0], theirs[:1]) and not any(_has_more(arm, collectives) for arm in (mine, theirs)):
            yield next(pair for pair in zip(mine, theirs, strict=True) if pair[0].op != pair[1].op)


def _has_more(arm: list[Collective], collectives: list[Collective]) -> bool:
    """Whether an arm has further collectives, under tests of their own or in loops and calls."""
    here = arm[0]
    return any(one not in arm and one.process == here.process and one.when >= here.when for one in collectives)


def _who(event: Collective | SubgroupMade) -> str:
    ranks, size = _ranks(event)
    if ranks == list(range(1, size)):
        return "every rank but 0 calls"
    return f"rank {ranks[0]} calls" if len(ranks) == 1 else "only some ranks call"


def _are_several(event: Collective | SubgroupMade) -> bool:
    ranks, size = _ranks(event)
    return len(ranks) != 1 and ranks != list(range(1, size))


def _ranks(event: Collective | SubgroupMade) -> tuple[list[int], int]:
    """Return the ranks that come here in the first launch world in which not all do, and how many it has."""
    world = WORLDS[divides_ranks(event.when) or ""]
    return sorted(member.rank for member in reaching(event.when, world)), len(world)


def _decided(event: Collective | SubgroupMade) -> tuple[Label, ...]:
    return (Label(place=event.decided, text="decided here"),) if event.decided is not None else ()


def _way_out(event: Collective | SubgroupMade) -> str:
    """Say what to do about the test that lets only some ranks come here."""
    where = "" if event.decided is None else f" in line {event.decided.line}"
    where += f" of {event.decided.file}" if event.decided and event.decided.file != event.place.file else ""
    if event.left:
        return f"before the test on {_test(event)}{where}, after which the others do not come here"
    return f"take it out of the test on {_test(event)}{where}"


def _test(event: Collective | SubgroupMade) -> str:
    tests = sorted({literal.atom.text for literal in literals(event.when) if literal.atom.kind == "rank"})
    return tests[0] if tests else "the rank"


def ranks_went_apart(fault: Fault, run: Observed) -> Verdict:
    """See how often each rank called it, and what those did meanwhile that called it less often than others."""
    here = seen_at(run.of(Collective), fault.place, fault.event.stack if fault.event else None)
    calls = Counter(event.rank for event in here)
    if not here:
        return not_reached("no rank came to this line")
    most = max(calls.values())
    behind = [rank for rank in run.ranks if calls[rank] < most]
    consequences = _consequences(run)
    if not behind:
        if not run.of(Blocked) and not consequences:
            return refuted("every rank called it equally often", ranks=list(run.ranks), times=most)
        return not_reached("every rank called it equally often in this run")
    pairs = [pair for rank in behind for pair in _met(run, rank, set(here))]
    if pairs and not consequences and all(mine is not None and mine.op == their.op for their, mine in pairs):
        return not_reached("every rank of this run called the same in its place, at another line")
    different = any(mine is not None and mine not in here for _, mine in pairs)
    if not different and not any(_went_elsewhere(run, rank) for rank in behind):
        return not_reached(_what_became_of(run, behind))
    blocked = {event.rank: event for event in run.of(Blocked)}
    ahead = [rank for rank in run.ranks if calls[rank] == most]
    evidence: dict[str, object] = {"called_by": ahead, "never_called_by": [rank for rank in behind if not calls[rank]]}
    if any(calls[rank] for rank in behind):
        evidence["times"] = [calls[rank] for rank in run.ranks]
    evidence.update({f"rank {rank}": blocked[rank].place for rank in run.ranks if rank in blocked})
    where = next(
        (f" (it is at {blocked[rank].place.file}:{blocked[rank].place.line})" for rank in behind if rank in blocked), ""
    )
    waits = "waits in" if any(rank in blocked for rank in ahead) else "called"
    less = "called it less often" if any(calls[rank] for rank in behind) else "never called it"
    return confirmed(f"rank {_names(ahead)} {waits} it; rank {_names(behind)} {less}{where}", *consequences, **evidence)


def _names(ranks: list[int]) -> str:
    return " and ".join(map(str, ranks))


def _went_elsewhere(run: Observed, rank: int) -> bool:
    """Whether a rank certainly went another way: it has ended, or waits elsewhere for ever."""
    return rank in finished(run) or any(event.for_ever for event in run.on(rank, Blocked))


def _met(run: Observed, rank: int, here: set[Collective]) -> Iterator[tuple[Collective, Collective | None]]:
    """Yield the other ranks' calls, each with this rank's call of the default group that has its turn."""
    own = [event for event in run.on(rank, Collective) if event.group is None]
    for other in run.ranks:
        theirs = [event for event in run.on(other, Collective) if event.group is None]
        for their, mine in zip_longest(theirs, own[: len(theirs)]):
            if other != rank and their in here:
                yield their, mine


def _what_became_of(run: Observed, behind: list[int]) -> str:
    """Say why it is not known whether the ranks that called it less often would have come."""
    raised = next((event for rank in behind for event in run.on(rank, Raised)), None)
    if raised is not None:
        return f"rank {raised.rank} raised {raised.type} before it came here"
    return f"rank {_names(behind)} was ended before it came here"


def _consequences(run: Observed) -> tuple[Event, ...]:
    return (*run.of(Blocked), *(event for event in run.of(Raised) if event.caused_by_peer))


CHECK = Check(
    name="rank-conditional-collective",
    summary="only some ranks reach a collective: they wait in it for ever",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(Collective, SubgroupMade),
    predict=only_some_ranks_call_it,
    judge=ranks_went_apart,
)

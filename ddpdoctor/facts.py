"""What several checks ask of the traces: which loaders train, who reaches an event, what a group does, who ended."""

from collections.abc import Iterable, Iterator, Sequence

from ddpdoctor.atom import Condition
from ddpdoctor.condition import as_formula, compatible, together
from ddpdoctor.events import (
    DATA_PARALLEL,
    MAIN,
    Backward,
    Ended,
    EnvSet,
    Event,
    FileUsed,
    Forward,
    FrameworkOwns,
    GroupInit,
    LoaderBuilt,
    ModelHandedOver,
    ModelWrapped,
    ProcessStarted,
    SamplerBuilt,
    Unfollowed,
)
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import divides_ranks, holds_for
from ddpdoctor.value import Constant, Ref, Symbol, Value, alternatives
from ddpdoctor.world import UNKNOWN, WORLDS, Expression, Member


def owned(trace: Predicted, duty: str) -> bool:
    """Whether a framework takes a duty over."""
    return any(duty in event.duties for event in trace.of(FrameworkOwns))


def is_distributed(trace: Predicted) -> bool:
    """Whether the program trains with several processes at all."""
    return bool(trace.of(GroupInit) or replicas(trace))


def replicas(trace: Predicted) -> tuple[ModelWrapped, ...]:
    """Return the wraps that put a replica of the model on every rank."""
    return tuple(event for event in trace.of(ModelWrapped) if event.how != DATA_PARALLEL)


def hands_its_model_over(trace: Predicted) -> bool:
    """Whether a framework gets a model that it puts a replica of on every rank."""
    return bool(trace.of(ModelHandedOver))


def one_device_each(trace: Predicted, process: str) -> bool:
    """Whether each rank sees one device only, so that the current one is right, and every file's ``cuda:0`` its own."""
    return any(
        event.name == "CUDA_VISIBLE_DEVICES" and "rank" in event.value.taint and event.process in (process, MAIN)
        for event in trace.of(EnvSet)
    )


def training_backwards(trace: Predicted) -> dict[Ref, Backward]:
    """Return the loaders that training draws from, each with a backward pass of one of its batches."""
    found: dict[Ref, Backward] = {}
    for event in trace.of(Backward):
        looped = [loader for loop in event.loops for loader in loop.loaders]
        for loader in (*event.batches, *looped):
            found.setdefault(loader, event)
    return found


def training_forwards(trace: Predicted, wrapper: Ref) -> Iterator[tuple[Forward, Backward]]:
    """Yield the forwards of a wrapped model from which a loss came, each with the backward of that loss."""
    forwards = {event.order: event for event in trace.of(Forward) if event.model == wrapper and _learns(event)}
    for backward in trace.of(Backward):
        for order in backward.forwards:
            if order in forwards:
                yield forwards[order], backward


def _learns(event: Forward) -> bool:
    return event.via == "wrapper" and event.grad


def trained_after(trace: Predicted, wrapper: Ref, event: Event) -> Backward | None:
    """Return a backward of a wrapped model's loss that can follow an event, later in the program or in its loop."""
    around = {loop.place for loop in event.loops}
    for forward, backward in training_forwards(trace, wrapper):
        later = forward.order > event.order or around & {loop.place for loop in forward.loops}
        if later and forward.process == event.process and compatible(forward.when, event.when):
            return backward
    return None


def option(wrap: ModelWrapped, name: str) -> bool | None:
    """Whether an option of a wrapper is on, at its default where the user can choose; ``None`` where none decides."""
    value = wrap.options.get(name)
    if value is None:
        return False
    answers = {default_of(one) for _, one in alternatives(value, wrap.when)}
    return next(iter(answers)) if answers in ({True}, {False}) else None  # type: ignore[return-value]


def loaders(trace: Predicted) -> dict[Ref, LoaderBuilt]:
    """Return the loaders that are built, by the reference to each."""
    return {event.loader: event for event in trace.of(LoaderBuilt)}


def samplers(trace: Predicted) -> dict[Ref, SamplerBuilt]:
    """Return the samplers that are built, by the reference to each."""
    return {event.sampler: event for event in trace.of(SamplerBuilt)}


def given_to_unknown_code(trace: Predicted, event: Event, loader: LoaderBuilt) -> bool:
    """Whether code that was not followed gets a loader or what it draws from before an event, or in a loop with it.

    What it does to them is not known: it can tell a sampler the epoch, or put another into the loader.
    """
    given = (loader.sampler, loader.batch_sampler)
    parts = {value for one in given if one is not None for _, value in alternatives(one) if isinstance(value, Ref)}
    objects = {loader.loader, *loader.distributed_samplers, *parts}
    around = {loop.place for loop in event.loops}
    for call in trace.of(Unfollowed):
        if call.process not in (event.process, MAIN) or not compatible(call.when, event.when):
            continue
        in_time = call.order < event.order or around & {loop.place for loop in call.loops}
        if in_time and not objects.isdisjoint(call.objects) and not call.call.startswith(LEAVE_ALONE):
            return True
    return False


LEAVE_ALONE = ("builtins.", "contextlib.", "functools.", "itertools.", "logging.", "rich.", "torch.", "tqdm.")
"""Calls that do nothing to a loader but go through it."""


def is_rank_process(trace: Predicted, event: Event) -> bool:
    """Whether an event happens in a process that is one of the ranks.

    A script that starts processes itself and initialises its groups in them is no rank in its own process.
    """
    inits = trace.of(GroupInit)
    if any(init.process == event.process for init in inits):
        return True
    spawned = {started.child for started in trace.of(ProcessStarted)}
    return not inits and (event.process in spawned or not spawned)


def starts_its_ranks(trace: Predicted) -> bool:
    """Whether the program starts the processes that are its ranks, instead of being started once for each."""
    children = {started.child for started in trace.of(ProcessStarted)}
    ranks = {event.process for event in (*trace.of(GroupInit), *replicas(trace))}
    return bool(children & ranks if ranks else children)


def in_group(trace: Predicted, event: Event) -> Iterator[GroupInit]:
    """Yield the initialisations of the process group that an event can happen with, in its process."""
    for init in trace.of(GroupInit):
        if init.process == event.process and compatible(init.when, event.when):
            yield init


def runs_distributed(event: Event) -> bool:
    """Whether an event can happen in any distributed launch world at all."""
    return can_hold_among_ranks(event.when)


def can_hold_among_ranks(condition: Condition) -> bool:
    """Whether a condition can hold in any distributed launch world at all, where there is a group."""
    formula = as_formula(condition)
    return any(holds_for(formula, member) is not False for world in WORLDS.values() for member in world)


def can_set_up_ranks(condition: Condition) -> bool:
    """Whether a condition can hold in a distributed launch world before there is a group."""
    rest = frozenset(
        one for one in condition if one.atom.expression is None or not _asks_for_group(one.atom.expression)
    )
    formula = as_formula(rest)
    return any(holds_for(formula, member) is not False for world in WORLDS.values() for member in world)


def _asks_for_group(expression: Expression) -> bool:
    return "initialized" in expression.leaves()


def for_some_ranks_only(event: Event) -> bool:
    """Whether only some ranks reach an event, in some launch world."""
    return divides_ranks(event.when) is not None


def among_ranks(trace: Predicted, event: Event) -> tuple[Event, ...]:
    """Return an event as it happens in a run of several ranks: under what its process group was initialised under too.

    ``if not cfg.distributed or rank == 0`` lets one rank of several through, whatever is known of the option.
    """
    inits = {init.when for init in in_group(trace, event)}
    both = (together(event.when, when) for when in inits)
    return tuple(event.with_(when=when) for when in both if when is not None) or (event,)


def left_to_some_ranks(trace: Predicted, event: Event) -> bool:
    """Whether only some ranks of a run of several reach an event, in some launch world."""
    return for_some_ranks_only(event) or all(map(for_some_ranks_only, among_ranks(trace, event)))


def reaching(condition: Condition, world: tuple[Member, ...]) -> frozenset[Member]:
    """Return the ranks of a world that can meet a condition."""
    formula = as_formula(condition)
    return frozenset(member for member in world if holds_for(formula, member) is not False)


def is_cache(trace: Predicted, event: FileUsed) -> bool:
    """Whether a file is written because it is not there yet, and read back: whoever comes first makes it."""
    name = event.path.text()
    missing = any(literal.atom.text == f"{name} exists" and not literal.holds for literal in event.when)
    return (
        event.op in ("save", "write")
        and missing
        and any(one.op == "load" and one.path.text() == name for one in trace.of(FileUsed))
    )


def excludes(first: Condition, second: Condition) -> bool:
    """Whether no rank meets both of two conditions, in some launch world in which some rank meets each."""
    for world in WORLDS.values():
        here, there = reaching(first, world), reaching(second, world)
        if here and there and not here & there:
            return True
    return False


def completed(event: Event, others: Iterable[Event]) -> bool:
    """Whether the ranks that do not reach an event reach others instead, each once, as the arms of a test do."""
    reaches = [[reaching(other.when, world) for other in others] for world in WORLDS.values()]
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


def backends(init: GroupInit) -> Iterator[tuple[Condition, str | None]]:
    """Yield the names of the backends that a group can have, each under its condition; ``None`` for an unknown one.

    An option counts as its default.
    """
    for condition, value in alternatives(init.backend, init.when):
        known: Value | None = value.default if isinstance(value, Symbol) else value
        name = known.value if isinstance(known, Constant) else UNKNOWN
        if name is None:
            name = DEFAULT_BACKEND
        yield condition, name.lower() if isinstance(name, str) else None


DEFAULT_BACKEND = "cpu:gloo,cuda:nccl"
"""What a group has without a backend named (torch/distributed/distributed_c10d.py: ``default_device_backend_map``)."""


def uses_nccl(init: GroupInit) -> bool:
    """Whether a group is certainly meant for NCCL where there are GPUs."""
    return any(name is not None and "nccl" in name for _, name in backends(init))


def uses_nccl_alone(init: GroupInit) -> bool:
    """Whether a group can have NCCL and no backend for the CPU, which takes what is on no device."""
    return any(name == "nccl" for _, name in backends(init))


def default_of(value: Value | None) -> object:
    """Return a constant's value, or an option's default, or ``None``."""
    if isinstance(value, Symbol):
        value = value.default
    return value.value if isinstance(value, Constant) else None


def finished(run: Observed) -> frozenset[int]:
    """Return the ranks that came to the end of the script by themselves: what they have not done, they never do."""
    return frozenset(
        event.rank
        for event in run.of(Ended)
        if event.rank is not None and (event.how == "natural" or (event.how == "exit" and not event.status))
    )

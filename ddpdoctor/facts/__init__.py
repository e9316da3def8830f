"""What several checks ask of the traces: which loaders train, which processes are ranks, what a group has."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition, Literal
from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.events import (
    DATA_PARALLEL,
    MAIN,
    Backward,
    DatasetBuilt,
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
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Constant, Either, Ref, Symbol, Value, alternatives
from ddpdoctor.world import UNKNOWN


def owned(trace: Predicted, duty: str) -> bool:
    """Whether a framework takes a duty over; one that has to be asked for by an option leaves the usual run to DDP."""
    owning = (event for event in trace.of(FrameworkOwns) if duty in event.duties)
    return any(holds_by_default(as_formula(event.when)) is not False for event in owning)


def is_distributed(trace: Predicted) -> bool:
    """Whether the program trains with several processes at all."""
    return bool(trace.of(GroupInit) or replicas(trace))


def replicas(trace: Predicted) -> tuple[ModelWrapped, ...]:
    """Return the wraps that put a replica of the model on every rank."""
    return tuple(event for event in trace.of(ModelWrapped) if event.how != DATA_PARALLEL)


def hands_its_model_over(trace: Predicted) -> bool:
    """Whether a framework gets a model that it puts a replica of on every rank."""
    return any(not event.by_hand for event in trace.of(ModelHandedOver))


def is_launched_for_accelerate(trace: Predicted) -> bool:
    """Whether Accelerate's launcher starts the program once for each rank; Lightning starts the others in its fit()."""
    launching = [event for event in trace.of(FrameworkOwns) if "launch" in event.duties]
    accelerated = bool(launching) and all(event.name == "accelerate.Accelerator" for event in launching)
    return accelerated and hands_its_model_over(trace)


def one_device_each(trace: Predicted, process: str) -> bool:
    """Whether each rank sees one device only, so that the current one is right, and every file's ``cuda:0`` its own."""
    return any(
        event.name == "CUDA_VISIBLE_DEVICES" and "rank" in event.value.taint and event.process in (process, MAIN)
        for event in trace.of(EnvSet)
    )


def shows_nothing(wrap: ModelWrapped) -> bool:
    """Whether the source shows no part of a wrapped model: what stands for it is made by the wrap."""
    return all(part.place == wrap.place for part in wrap.parts)


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


LEAVE_ALONE = (
    *("builtins.", "contextlib.", "functools.", "itertools.", "logging.", "rich.", "torch.", "tqdm."),
    *("prefetch_generator.", "alive_progress.", "progressbar.", "fastprogress."),
)
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


def is_cache(trace: Predicted, event: FileUsed) -> bool:
    """Whether a file is written because it is not there yet, and read back: whoever comes first makes it."""
    if event.op not in ("save", "write"):
        return False
    if _is_made_anew(trace, event):
        return True
    missing = any(may_be_missing(literal, event.path) for literal in event.when)
    failed = {block.place for block in event.within if block.kind == "except" and not event.states}
    if not missing and not failed:
        return False
    name = event.path.text()
    read = (one for one in trace.of(FileUsed) if one.op == "load" and one.path.text() == name)
    return any(missing or _is_tried_in(one, failed) for one in read)


def _is_made_anew(trace: Predicted, event: FileUsed) -> bool:
    """Whether a file is written because what was read from it is of no use any more: ``cache["hash"] != …``."""
    name = event.path.text()
    there = frozenset(one for one in event.when if one.holds and one.atom.text == f"{name} exists")
    if not there:
        return False
    read = (one for one in trace.of(FileUsed) if one.op == "load" and one.order < event.order)
    return any(one.path.text() == name and there <= one.when < event.when for one in read)


def kept_for_the_record(trace: Predicted, event: FileUsed) -> bool:
    """Whether what a server answered is written into a file when the training is over, and nothing reads it."""
    steps = trace.of(Backward)
    if not steps or not event.by.endswith(("write", "write_bytes", "copyfileobj")):
        return False
    rounds = {loop for step in steps for loop in step.loops}
    if any(step.order > event.order for step in steps) or rounds.intersection(event.loops):
        return False
    name = event.path.text()
    read = any(one.order > event.order and one.op == "load" and one.path.text() == name for one in trace.of(FileUsed))
    return not read and not any(one.order > event.order for one in trace.of(DatasetBuilt))


def _is_tried_in(load: FileUsed, blocks: set[Place]) -> bool:
    """Whether a file is read in one of the blocks whose failure is caught."""
    return any(block.kind == "try" and block.place in blocks for block in load.within)


def may_be_missing(literal: Literal, path: Value) -> bool:
    """Whether a test is met where a file is not there: by that alone, or as one way among others (``--rebuild``)."""
    if literal.atom.definition is None:
        return not literal.holds and literal.atom.text == f"{path.text()} exists"
    ways = literal.atom.definition if literal.holds else ()
    return any(len(way) == 1 and may_be_missing(one, path) for way in ways for one in way)


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
    """Return a constant's value, or an option's default, or ``None``: of several values, where it is the same one."""
    if isinstance(value, Either):
        defaults = [default_of(option) for _, option in value.options]
        return defaults[0] if defaults.count(defaults[0]) == len(defaults) else None
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

"""Decides from a run's trace and its end what became of each layer."""

from collections.abc import Iterator, Mapping, Sequence

from ddpdoctor.events import (
    MEETING,
    Backward,
    Blocked,
    Collective,
    DeviceSelected,
    DeviceUsed,
    Ended,
    Forward,
    GradientsSeen,
    GroupInit,
    LoaderBuilt,
    ModelWrapped,
    OptimizerStep,
    Raised,
    SamplerBuilt,
    Substituted,
)
from ddpdoctor.harness import reasons
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.supervise import Ending
from ddpdoctor.layer import MODEL, PROBE, LayerState
from ddpdoctor.named import NamedTuple
from ddpdoctor.trace import Observed
from ddpdoctor.value import Constant

TRAINING = (GroupInit, ModelWrapped, LoaderBuilt, SamplerBuilt, Forward, Backward, Collective)
"""Events that show that a script came to its distributed training."""

SHOWN_SUBSTITUTES = 8


class Run(NamedTuple):
    """One run that ended: its plan and trace, how it ended, what protected the user's files (``how``), and what the
    processes printed last. ``silent`` when they wrote no event at all: the trace holds but their ends.

    ``size`` is what it may write in bytes where its files are kept in memory, ``linked`` is what a copy holds as links,
    and ``doing`` are the last words of each rank on what it was at.
    """

    plan: Plan
    trace: Observed
    ending: Ending
    how: str
    out_of_memory: bool
    by_copy: bool = False
    linked: Sequence[str] = ()
    last_words: str = ""
    silent: bool = False
    size: int = 0
    doing: Sequence[str] = ()


def layers(run: Run) -> Mapping[str, LayerState]:
    """Return what became of each layer that the run was to serve."""
    details = tuple(_details(run))
    served = {MODEL: _model_was_seen(run), PROBE: _training_was_seen(run)}
    states = {}
    for layer in sorted(run.plan.layers):
        if served[layer]:
            states[layer] = LayerState(state="checked", details=details)
        else:
            state, reason = _why_not(run, layer)
            states[layer] = LayerState(state=state, reason=reason, details=details)
    return states


def first_cause(trace: Observed) -> Raised | None:
    """Return the first exception that is not the echo of another rank's end."""
    return next((raised for raised in trace.of(Raised) if not raised.caused_by_peer), None)


def _model_was_seen(run: Run) -> bool:
    """Whether a wrapped model did what the model layer looks at: a backward and, where the run came to it, a step."""
    trace = run.trace
    passed = bool(trace.of(ModelWrapped)) and bool(trace.of(Backward))
    if not trace.of(GradientsSeen) and not passed:
        return False
    broken_off = first_cause(trace) is not None or _waits_for_ever(trace) or run.out_of_memory
    return bool(trace.of(OptimizerStep)) or not broken_off


def _training_was_seen(run: Run) -> bool:
    """Whether the run showed the script's distributed training, to its end or to a failure of the script's own."""
    if run.out_of_memory or (run.ending.how == "timeout" and not _all_ended(run.trace)) or _ranks_missing(run):
        return False
    cause = first_cause(run.trace)
    if cause is None:
        return any(isinstance(event, TRAINING) for event in run.trace)
    if cause.ours or run.trace.may_come_of_the_cut(cause) or run.trace.lacked(cause):
        return False
    return bool(run.trace.of(ModelWrapped))


def _all_ended(trace: Observed) -> bool:
    """Whether every rank had come to the end of the script, if not to that of its process."""
    natural = {event.rank for event in trace.of(Ended) if event.how == "natural"}
    return bool(trace.ranks) and natural.issuperset(trace.ranks)


def _waits_for_ever(trace: Observed) -> bool:
    """Whether ranks wait for each other, or for one that has ended."""
    return any(event.for_ever for event in trace.of(Blocked))


def _ranks_missing(run: Run) -> int | None:
    """Return how many ranks the script waits for in ``init_process_group``, where that is more than were started."""
    waits = any(event.inside is not None and event.inside.op == MEETING for event in run.trace.of(Blocked))
    wanted = run.trace.world_size_asked_for()
    return wanted if waits and wanted > len(run.trace.ranks) else None


def _why_not(run: Run, layer: str) -> tuple[str, str]:
    """Return the state of a layer that the run did not serve, and the reason."""
    plan, trace = run.plan, run.trace
    before = _what_was_to_come(layer, trace)
    if run.out_of_memory:
        why = f" ({run.ending.why})" if run.ending.why else ""
        return "not-run", f"the run was stopped because memory ran short{why}: fewer --ranks need less"
    cause = first_cause(trace)
    if cause is not None and cause.ours:
        did = reasons.contained(cause, plan.directory, by_copy=run.by_copy)
        if did == reasons.WROTE_TOO_MUCH:
            return "not-run", reasons.no_space(cause, plan, None if run.by_copy else run.size)
        if did is not None:
            return "not-run", f"the script {did} ({reasons.where(cause.place, plan)})"
        return "failed", f"a fault of ddpdoctor's own while it watched the script: {reasons.exception(cause)}"
    if cause is not None and trace.lacked(cause):
        return "not-run", reasons.missing(cause, plan)
    if run.ending.how == "timeout":
        return "not-run", _timed_out(run)
    if cause is not None:
        if trace.may_come_of_the_cut(cause):
            return "not-run", reasons.failed(
                cause, plan, "after the run had cut its loops short, perhaps because of it"
            )
        return "not-run", reasons.raises(cause, plan, before)
    if run.silent:
        return "failed", f"the observed process ended before the script began: {run.last_words or 'it said nothing'}"
    wanted = _ranks_missing(run)
    if wanted is not None:
        started = len(trace.ranks)
        return (
            "not-run",
            f"the script waits for {wanted} ranks and {started} were started: --ranks {wanted} starts as many",
        )
    if _waits_for_ever(trace):
        return "not-run", reasons.waits(trace, plan, before)
    echo = next(iter(trace.of(Raised)), None)
    if echo is not None:
        return "not-run", reasons.raises(echo, plan, before)
    ends = sorted(trace.of(Ended), key=lambda ended: (not ended.status, ended.time))
    return "not-run", reasons.left(ends[0] if ends else None, plan, before)


def _what_was_to_come(layer: str, trace: Observed) -> str:
    if trace.of(ModelWrapped):
        return "takes a training step"
    if layer == MODEL:
        return "wraps a model in DistributedDataParallel"
    return "comes to its training" if trace.of(GroupInit) else "sets up distributed training"


def _timed_out(run: Run) -> str:
    at = sorted({reasons.where(event.place, run.plan) for event in run.trace.of(Blocked)})
    where = f", then at {', '.join(at)}" if at else ""
    wrapped = "" if run.trace.of(ModelWrapped) else " and had wrapped no model"
    return f"the script had not ended after {run.plan.timeout:.0f} s{wrapped}{where}: --timeout gives it longer"


def _details(run: Run) -> Iterator[str]:
    """Yield what a reader of the report should know of how the script was run."""
    network = "which leaves the network open" if run.by_copy else "without a network"
    yield f"contained by {run.how}, {network}: no file outside the run's folder changed"
    if run.linked:
        yield f"{len(run.linked)} of the project's files and folders were linked, not copied: {_few(run.linked)}"
    if run.trace.redirected and _asked_for_gpus(run.trace):
        yield "calls to CUDA and NCCL went to the CPU and gloo"
    if run.trace.of(ModelWrapped):
        yield _extent(run)
    yield from _what_came_later(run)
    substitutes = dict.fromkeys(f"{event.by} in the place of {event.what}" for event in run.trace.of(Substituted))
    shown = list(substitutes)[:SHOWN_SUBSTITUTES]
    yield from shown
    if len(substitutes) > len(shown):
        yield f"and {len(substitutes) - len(shown)} more stand-ins"


def _asked_for_gpus(trace: Observed) -> bool:
    """Whether the script used CUDA or NCCL at all."""
    backends = [event.backend for event in trace.of(GroupInit)]
    nccl = any(isinstance(backend, Constant) and "nccl" in str(backend.value) for backend in backends)
    return nccl or bool(trace.of(DeviceSelected)) or bool(trace.of(DeviceUsed))


def _extent(run: Run) -> str:
    """Return how much of the training the run was to see, and saw."""
    taken = max((len(run.trace.on(rank, OptimizerStep)) for rank in run.trace.ranks), default=0)
    plan = run.plan
    if PROBE not in plan.layers:
        return f"the training was watched to its first optimizer step{'' if taken else ', which it did not take'}"
    most = f"{plan.steps} optimizer steps an epoch and {plan.epochs} epochs"
    return f"the training was watched for at most {most}: it took {taken or 'no'} step{'s' * (taken != 1)}"


def _what_came_later(run: Run) -> Iterator[str]:
    """Yield what went wrong when the layers had seen what they look at."""
    if run.ending.how == "timeout" and _all_ended(run.trace):
        at = sorted({reasons.where(event.place, run.plan) for event in run.trace.of(Ended)})
        words = ", ".join(dict.fromkeys(run.doing))
        yield f"the script had come to its end, and its processes had not after {run.plan.timeout:.0f} s: " + (
            f"{words} ({', '.join(at)})"
        )
    if PROBE in run.plan.layers or not run.trace.of(OptimizerStep):
        return
    cause = first_cause(run.trace)
    if cause is not None and not cause.ours:
        yield reasons.failed(cause, run.plan, "after its first optimizer step: --probe looks at what comes then")
    elif _waits_for_ever(run.trace):
        yield reasons.waits(run.trace, run.plan, "ends")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{shown} …" if len(names) > 3 else shown

"""A checkpoint that all ranks load onto the GPU that it was saved from."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import CudaTouched, DeviceSelected, DeviceUsed, FileUsed, GroupInit, ModelMoved, StateLoaded
from ddpdoctor.facts import (
    hands_its_model_over,
    in_group,
    is_distributed,
    is_rank_process,
    one_device_each,
    replicas,
    uses_nccl,
)
from ddpdoctor.facts.checkpoints import saved_as
from ddpdoctor.facts.ranks import guarded_by_rank, left_to_some_ranks, runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import is_none

LOADERS = frozenset({"torch.load", "torch.jit.load"})
"""What puts tensors back where they were saved from: torch/serialization.py and torch/jit/_serialization.py."""


def all_ranks_load_onto_one_gpu(trace: Predicted) -> Iterator[Fault]:
    """Find checkpoints that several ranks load without saying where their tensors go."""
    if not (is_distributed(trace) or hands_its_model_over(trace)) or not _has_gpus(trace):
        return
    for event in trace.of(FileUsed):
        if event.op != "load" or event.by not in LOADERS or "rank" in event.path.taint:
            continue
        if not is_rank_process(trace, event) or one_device_each(trace, event.process):
            continue
        if not is_none(event.map_location) or not _several_ranks_come(trace, event):
            continue
        used, certain = _model_state(trace, event)
        if used is not None:
            yield _fault(event, used, certain)


def _has_gpus(trace: Predicted) -> bool:
    """Whether tensors of the program can be on a GPU when it saves them."""
    touched: bool = any(trace.of(CudaTouched)) or any(trace.of(DeviceUsed)) or any(trace.of(DeviceSelected))
    return touched or any(uses_nccl(init) for init in trace.of(GroupInit)) or hands_its_model_over(trace)


def _several_ranks_come(trace: Predicted, event: FileUsed) -> bool:
    if (
        left_to_some_ranks(trace, event)
        or guarded_by_rank(trace, trace.of(FileUsed), event)
        or not runs_distributed(event)
    ):
        return False
    return hands_its_model_over(trace) or any(True for _ in in_group(trace, event))


def _model_state(trace: Predicted, event: FileUsed) -> tuple[StateLoaded | FileUsed | None, Confidence]:
    """Return what shows that a file holds the state of a model that may be on a GPU, and how certain that is."""
    taken = next((one for one in trace.of(StateLoaded) if event.order in one.read), None)
    name = event.path.text()
    saves = [one for one in trace.of(FileUsed) if one.op == "save" and one.path.text() == name]
    saved = next((one for one in saves if one.states and not _moved_to_cpu(trace, one)), None)
    if saves and saved is None:
        return None, Confidence.HIGH  # what the script saves there was made of something else: moved to the CPU, say
    alike = next((one for one in saved_as(trace, event) if not _moved_to_cpu(trace, one)), None)
    return taken or saved or alike, Confidence.HIGH if saved else Confidence.MEDIUM


def _moved_to_cpu(trace: Predicted, save: FileUsed) -> bool:
    """Whether the models whose states are saved were put on the CPU last, by themselves or with their wrapper."""
    moves = [event for event in trace.before(save, ModelMoved) if event.device is not None]
    wraps = [event for event in replicas(trace) if event.process == save.process]
    for state in save.states:
        whole = {state.of, *(wrap.wrapper for wrap in wraps if state.of in (wrap.wrapper, *wrap.inside))}
        own = [event for event in moves if event.model in whole]
        if state.module and (not own or own[-1].device != "cpu"):
            return False
    return any(state.module for state in save.states)


def _fault(event: FileUsed, used: "StateLoaded | FileUsed", certain: Confidence) -> Fault:
    what = "goes into the model here" if isinstance(used, StateLoaded) else "it is saved here"
    return Fault(
        place=event.place,
        message="every rank loads this checkpoint onto the GPU that it was saved from: all of them take memory there",
        confidence=certain,
        places=(Label(place=used.place, text=what),) if used.place.line != event.place.line else (),
        event=event,
        fix=Fix(description='pass map_location=device (this rank\'s own), or map_location="cpu"'),
    )


CHECK = Check(
    name="load-without-map-location",
    summary="a checkpoint is loaded onto one GPU by every rank",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(FileUsed,),
    predict=all_ranks_load_onto_one_gpu,
)

"""CUDA_VISIBLE_DEVICES, set when CUDA may have been initialised already: then it changes nothing."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import CudaTouched, EnvSet, FileUsed, GroupInit, ProcessStarted, StateLoaded
from ddpdoctor.facts.checkpoints import saved_as
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import is_none

VARIABLE = "CUDA_VISIBLE_DEVICES"


def set_after_cuda(trace: Predicted) -> Iterator[Fault]:
    """Find assignments that come after a call which may initialise CUDA in the same process."""
    for event in _first_visits(trace):
        if _for_children(trace, event):
            continue
        touched = next((one for one in trace.of(CudaTouched) if _before(one, event)), None)
        if touched is None:
            loaded = next((one for one in trace.of(FileUsed) if _before(one, event) and _fills_gpus(trace, one)), None)
            if loaded is not None:
                yield _late_after_load(event, loaded)
            continue
        yield Fault(
            place=event.place,
            message=f"{touched.by} may have initialised CUDA before this: the visible devices are fixed from then on",
            places=(Label(place=touched.place, text=touched.by),),
            event=event,
            fix=Fix(description="set it before the first CUDA call of the process, best before the script starts"),
        )


LOAD = "torch.load"


def _late_after_load(event: EnvSet, loaded: FileUsed) -> Fault:
    return Fault(
        place=event.place,
        message="torch.load puts the tensors of a checkpoint back onto the GPUs, and so initialises CUDA before this: "
        "the visible devices are fixed from then on",
        confidence=Confidence.MEDIUM,
        places=(Label(place=loaded.place, text="it has no map_location"),),
        event=event,
        fix=Fix(description='set it before, or load with map_location="cpu"'),
    )


def _fills_gpus(trace: Predicted, load: FileUsed) -> bool:
    """Whether a file that is loaded as it is holds a model's state: its tensors go back to where they were saved.

    It does where a model takes them over, or where the script has saved it.
    """
    if load.op != "load" or load.by != LOAD or not is_none(load.map_location):
        return False
    if any(taken.module and load.order in taken.read for taken in trace.of(StateLoaded)):
        return True
    return bool(saved_as(trace, load))


def _first_visits(trace: Predicted) -> Iterator[EnvSet]:
    """Yield the first assignment by each line in each process: what comes there again has been in time once."""
    seen: set[tuple[str, Place]] = set()
    for event in trace.of(EnvSet):
        if event.name == VARIABLE and (event.process, event.place) not in seen:
            seen.add((event.process, event.place))
            yield event


def _before(touched: CudaTouched | FileUsed, event: EnvSet) -> bool:
    same = touched.process == event.process and touched.order < event.order
    return same and compatible(touched.when, event.when)


def _for_children(trace: Predicted, event: EnvSet) -> bool:
    """Whether it is set for the processes that are started afterwards, and only those use the devices."""
    started = [one for one in trace.of(ProcessStarted) if one.process == event.process and one.order > event.order]
    return bool(started) and all(init.process != event.process for init in trace.of(GroupInit))


def set_after_cuda_in_the_run(fault: Fault, run: Observed) -> Verdict:
    """See in which order the run touched CUDA and set the variable."""
    written = [event for event in seen_at(run.of(EnvSet), fault.place) if event.name == VARIABLE]
    if not written:
        return not_reached("no process came to this line")
    for event in written:
        earlier = [one for one in run.of(CudaTouched) if _same_process(one, event) and one.time < event.time]
        if earlier:
            return confirmed(
                f"{earlier[0].by} came first, at {_line(earlier[0])}", first=earlier[0].place, by=earlier[0].by
            )
    if fault.message.startswith(LOAD):
        return not_reached("what a checkpoint holds that was saved on another machine is not seen in this run")
    return refuted("no CUDA call came before it in its process", processes=len(written))


def _same_process(one: CudaTouched, event: EnvSet) -> bool:
    return one.rank == event.rank and one.process == event.process


def _line(event: CudaTouched) -> str:
    return f"line {event.place.line}"


CHECK = Check(
    name="late-visible-devices",
    summary="CUDA_VISIBLE_DEVICES is set after CUDA may have been initialised",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(EnvSet,),
    predict=set_after_cuda,
    judge=set_after_cuda_in_the_run,
)

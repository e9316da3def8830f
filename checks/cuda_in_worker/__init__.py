"""A data set that uses CUDA in workers that were forked from a process which uses it too."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import DeviceSelected, DeviceUsed, EpochBegun, WorkerTouchesCuda
from ddpdoctor.facts import default_of, loaders
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted


def workers_cannot_use_cuda(trace: Predicted) -> Iterator[Fault]:
    """Find what touches CUDA in the workers of a loader that is gone through after this process has touched it."""
    built, seen = loaders(trace), set[Place]()
    for event in trace.of(WorkerTouchesCuda):
        loader = built.get(event.loader)
        workers = None if loader is None else default_of(loader.workers)
        if loader is None or not isinstance(workers, int) or workers < 1 or event.place in seen:
            continue
        begun = next((one for one in trace.of(EpochBegun) if one.loader == event.loader), None)
        if begun is None or not _uses_cuda_before(trace, begun):
            continue
        seen.add(event.place)
        yield Fault(
            place=event.place,
            message=f"{event.by}() runs in forked workers, and raises RuntimeError there: CUDA is in use already",
            places=(Label(place=loader.place, text="this loader's workers run it"),),
            about=event.loader,
            event=event,
            fix=Fix(
                description="return CPU tensors, and move each batch in the training loop (pin_memory, non_blocking)"
            ),
        )


def _uses_cuda_before(trace: Predicted, begun: EpochBegun) -> bool:
    return any(True for kind in (DeviceUsed, DeviceSelected) for _ in trace.before(begun, kind))


CHECK = Check(
    name="cuda-in-worker",
    summary="a data set moves samples to the GPU in forked workers, which cannot use CUDA",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(WorkerTouchesCuda,),
    predict=workers_cannot_use_cuda,
)

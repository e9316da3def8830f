"""What a loader's workers run: a data set's methods, its transforms and the function that makes batches."""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from ddpdoctor.atom import Condition
from ddpdoctor.events import CudaTouched, DeviceUsed, Event, Within, WorkerTouchesCuda
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Opaque, is_none, known, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.objects import Bound, Function, Generator, Made, Object
from ddpdoctor.reader.syntax import DRAWING
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref, Symbol

MAX_DEPTH = 4
HARMLESS = ("torch.cuda.is_available", "torch.cuda.device_count", "torch.accelerator.")
"""Questions about CUDA that a forked process may ask."""
MAX_RUN = 8
"""How many functions are run for one loader."""


def look_into_workers(walk: Walk, call: Call, loader: Ref, dataset: Abstract) -> None:
    """Run what a loader's workers run, and record where it comes to CUDA."""
    if not _has_forked_workers(walk, call):
        return
    drawn = list(_run_by_workers(walk, dataset))
    collate = call.kwargs.get("collate_fn")
    if isinstance(collate, (Function, Bound)):
        drawn.append(collate)
    for callee in [one for one in drawn if _speaks_of_devices(walk, one)][:MAX_RUN]:
        touched = _first_touch(walk, callee, call)
        if touched is not None:
            before, here = walk.path, walk.assuming_also(touched.when)
            if here is not None:
                walk.path = here
                walk.emit(WorkerTouchesCuda, call.node, place=touched.place, loader=loader, by=touched.by)
                walk.path = before
                return


def _has_forked_workers(walk: Walk, call: Call) -> bool:
    workers = call.argument("num_workers", 5)
    context = call.kwargs.get("multiprocessing_context", NONE)
    if workers is None or known(workers) == 0:
        return False
    return walk.start_method == "fork" if is_none(context) else known(context) == "fork"


def _run_by_workers(walk: Walk, value: Abstract, depth: int = 0) -> Iterator["Function | Bound"]:
    """Yield what drawing a sample calls first: a method of the script's own, or a function in a library's data set."""
    for _, option in options(value) if depth <= MAX_DEPTH else ():
        if isinstance(option, Object):
            for name in DRAWING:
                method = class_attribute(walk, option.cls, name)
                if isinstance(method, Function):
                    yield Bound(method, option)
        elif isinstance(option, (Function, Bound)):
            yield option
        elif isinstance(option, Made) and option.path.startswith(("torch.utils.data.", "torchvision.")):
            for part in (*option.args, *option.kwargs.values()):
                yield from _run_by_workers(walk, part, depth + 1)
        elif isinstance(option, Items):
            for part in option.items[:MAX_RUN]:
                yield from _run_by_workers(walk, part, depth + 1)


def _speaks_of_devices(walk: Walk, callee: "Function | Bound") -> bool:
    """Whether the module that a function is from, or the class, has a word of devices: else it is not run."""
    function = callee.function if isinstance(callee, Bound) else callee
    nodes: list[ast.AST] = [function.node]
    if isinstance(callee, Bound) and isinstance(callee.receiver, Object):
        nodes = [one.node for one in callee.receiver.cls.resolution()]
        held = (cell[-1][1] for cell in callee.receiver.attributes.values())
        nodes += [one.node for value in held if isinstance(value, Object) for one in value.cls.resolution()]
        nodes += [value.node for value in held if isinstance(value, Function)]
    return any(isinstance(node, ast.Attribute) and node.attr in MOVES for one in nodes for node in nodes_of(one))


MOVES = frozenset({"cuda", "to", "device"})


def _first_touch(walk: Walk, callee: "Function | Bound", call: Call) -> DeviceUsed | CudaTouched | None:
    """Interpret a function as a worker runs it, aside: nothing of it is left but its first step to CUDA."""
    path, happened = walk.path, list[Event]()
    with walk.aside(MAX_STEPS), walk.inside(Within("worker", walk.place(call.node))):
        begun = len(walk.events)
        try:
            walk.loops = ()
            result = walk.call_with(callee, Opaque("sample"), node=call.node)
            if isinstance(result, Generator):
                run_body(walk, result.function, result.call, lambda _: NONE)
        finally:
            happened = walk.events[begun:]
    return next((event for event in happened if _is_certain(event) and _added(event.when, path) is not None), None)


MAX_STEPS = 1_000
"""How far such a function is interpreted: what draws one sample is short."""


def _is_certain(event: Event) -> TypeGuard[DeviceUsed | CudaTouched]:
    """Whether an event surely comes to CUDA: a device of some name that only smells of a rank may be another's."""
    if isinstance(event, DeviceUsed):
        return not isinstance(event.index, Symbol) or event.index.expression is not None
    return isinstance(event, CudaTouched) and event.by.startswith("torch.cuda.") and not event.by.startswith(HARMLESS)


def _added(when: Condition, path: Condition) -> Condition | None:
    """Return what was added to a condition, unless an exception is part of it."""
    added = when - path
    return None if any(literal.atom.text.startswith("an exception") for literal in added) else added

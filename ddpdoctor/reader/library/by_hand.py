"""Models that a program replicates by itself: it sends out the parameters, or puts their gradients together."""

from ddpdoctor.events import ModelHandedOver
from ddpdoctor.reader.abstract import Abstract, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.iteration import STATE
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.library.norms import unconverted_norms
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Value

GRADIENT = "grad"


def note_replica(walk: Walk, call: Call, op: str) -> None:
    """Note the model of which a collective sends out each parameter, or sums each gradient."""
    tensor = call.argument("tensor", 0)
    if op not in ("broadcast", "all_reduce") or tensor is None:
        return
    for _, option in options(tensor):
        if op == "all_reduce" and GRADIENT not in text(option).split("."):
            continue
        for tag in option.tags:
            if isinstance(tag, tuple) and tag[0] in ("parameter", STATE) and len(tag) > 2:
                _record(walk, call, tag[2])


def _record(walk: Walk, call: Call, model: Abstract) -> None:
    if not isinstance(model, (Made, Object)) or not is_module(model) or _is_noted(walk, lower(model)):
        return
    function = call.frame.function
    walk.emit(
        ModelHandedOver,
        call.node,
        model=lower(model),
        framework=function.name if function is not None else "",
        made=walk.stack[-1] if walk.stack else walk.place(call.node),
        norms=tuple(unconverted_norms(walk, model)),
        by_hand=True,
    )


def _is_noted(walk: Walk, model: Value) -> bool:
    return any(isinstance(event, ModelHandedOver) and event.by_hand and event.model == model for event in walk.events)

"""The memory layout of the parameters is changed after DDP has laid out its buckets by it."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import ModelChanged, ModelMoved, ModelWrapped
from ddpdoctor.facts import option, replicas, trained_after
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Ref

ROW_MAJOR = "row-major"
ONCE = "the first step copies each gradient into a bucket of the old layout, and PyTorch warns of the strides"
ALWAYS = "every step copies each gradient into a bucket of the old layout, and PyTorch warns of the strides"


def layout_is_not_that_of_the_buckets(trace: Predicted) -> Iterator[Fault]:
    """Find changes of a wrapped model's layout, where it is trained afterwards and had another one before."""
    told = set()
    events: tuple[ModelMoved | ModelChanged, ...] = (*trace.of(ModelMoved), *trace.of(ModelChanged))
    for event in events:
        layout = _layout(event)
        for wrap in replicas(trace) if layout is not None else ():
            if wrap.wrapper not in event.wrapped or wrap.order > event.order or event.place in told:
                continue
            backward = trained_after(trace, wrap.wrapper, event)
            if backward is None or _before(trace, wrap, event) == layout:
                continue
            told.add(event.place)
            kept = option(wrap, "find_unused_parameters") is True
            yield Fault(
                place=event.place,
                message=f"the parameters become {layout} after DDP laid out its buckets: {ALWAYS if kept else ONCE}",
                places=(*callers(event), Label(place=wrap.place, text="wrapped here")),
                about=wrap.wrapper,
                event=event,
                fix=Fix(description="change the layout before the wrap: model.to(memory_format=…), then DDP(model)"),
            )


def _layout(event: ModelMoved | ModelChanged) -> str | None:
    if isinstance(event, ModelMoved):
        return event.layout
    known = event.what == "layout" and isinstance(event.value, Constant)
    return str(event.value.value) if known and isinstance(event.value, Constant) else None


def _before(trace: Predicted, wrap: ModelWrapped, event: ModelMoved | ModelChanged) -> str:
    """Return the layout that the parameters had: what the model was put into last, be it on one path only."""
    held = {wrap.wrapper, *wrap.parts, *((wrap.model,) if isinstance(wrap.model, Ref) else ())}
    found = ROW_MAJOR
    for one in trace.of(ModelMoved):
        if (
            one.order < event.order
            and one.layout is not None
            and one.model in held
            and compatible(one.when, event.when)
        ):
            found = one.layout
    return found


CHECK = Check(
    name="layout-changed-after-wrap",
    summary="the parameters' memory layout is changed after the model was wrapped",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(ModelChanged, ModelMoved),
    predict=layout_is_not_that_of_the_buckets,
)

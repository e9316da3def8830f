"""Reentrant activation checkpointing in a model that DDP wraps so that it cannot work."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.events import ActivationCheckpoint, LayersUsed, ModelChanged, ModelWrapped
from ddpdoctor.facts import option, replicas
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Ref, alternatives

RAISES = "the first backward raises 'Expected to mark a variable ready only once'"


def parameters_are_ready_twice(trace: Predicted) -> Iterator[Fault]:
    """Find reentrant checkpointing with ``find_unused_parameters=True``, or of one module twice in a forward."""
    told = set()
    for event in trace.of(ActivationCheckpoint):
        if event.reentrant is not True or holds_by_default(as_formula(event.when)) is False:
            continue
        for wrap in _wraps_around(trace, event):
            if option(wrap, "static_graph") is not False or _made_static(trace, wrap):
                continue
            sought = option(wrap, "find_unused_parameters") is True
            if (not sought and event.times < 2) or wrap.place in told:
                continue
            told.add(wrap.place)
            what = "find_unused_parameters=True with" if sought else "one module passes twice through"
            here, there = (wrap, event) if sought else (event, wrap)
            yield Fault(
                place=here.place,
                message=f"{what} reentrant checkpointing: {RAISES}",
                confidence=Confidence.HIGH if event.model is not None else Confidence.MEDIUM,
                places=(
                    Label(place=there.place, text="checkpointed here" if sought else "wrapped here"),
                    *callers(here),
                ),
                about=wrap.wrapper,
                event=event,
                fix=Fix(description="checkpoint(…, use_reentrant=False)"),
            )


def _wraps_around(trace: Predicted, event: ActivationCheckpoint) -> Iterator[ModelWrapped]:
    """Yield the wraps of the model whose forward checkpoints, or for which checkpointing is switched on."""
    models = {used.model for used in trace.of(LayersUsed) if used.forward < event.order < used.order}
    for wrap in replicas(trace):
        own = event.model is not None and (event.model in wrap.parts or event.model in _refs(wrap))
        if (wrap.wrapper in models or (event.times == 0 and own)) and compatible(wrap.when, event.when):
            yield wrap


def _refs(wrap: ModelWrapped) -> set[Ref]:
    return {value for _, value in alternatives(wrap.model) if isinstance(value, Ref)} | {wrap.wrapper}


def _made_static(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether the graph is declared static later, in the older spelling."""
    return any(event.what == "static graph" and event.model == wrap.wrapper for event in trace.of(ModelChanged))


CHECK = Check(
    name="reentrant-checkpoint",
    summary="reentrant activation checkpointing where DDP finds a parameter ready twice",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ActivationCheckpoint,),
    predict=parameters_are_ready_twice,
)

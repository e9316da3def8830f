"""What DDP took stock of when it was built is changed afterwards: what learns, layers, types, initial values."""

import math
from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible, literals
from ddpdoctor.events import (
    Backward,
    Collective,
    Event,
    ModelChanged,
    ModelMoved,
    ModelWrapped,
    Seeded,
    StateLoaded,
    Unfollowed,
)
from ddpdoctor.facts import option, replicas, trained_after, training_forwards
from ddpdoctor.facts.ranks import completed, for_some_ranks_only
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Ref, Value, alternatives

FROZEN = "DDP waits in every backward for the gradients of parameters that stop learning here: the next forward raises"
THAWED = "DDP left these parameters out when it was built: they learn from here on, with gradients of each rank alone"
LAYER = "DDP does not know the layer that is put in here: its gradients are not averaged"
DRAWN = "each rank draws values of its own here, after DDP made the ranks' models equal: they stay different"
CAST = "the parameters lose DDP's hooks with their type: from here on no gradient is averaged, and nothing says so"
LOADED = "only some ranks load this, after DDP made the ranks' models equal: they train different ones from here on"
CHOSEN = "name of a parameter"
"""What stands in the test of a loop that takes some parameters only."""
Found = tuple[str, str]


def changed_what_ddp_has_counted(trace: Predicted) -> Iterator[Fault]:
    """Find changes of a wrapped model after which it is trained on."""
    told = set()
    for event in (*trace.of(ModelChanged), *trace.of(ModelMoved), *trace.of(StateLoaded)):
        for wrap in replicas(trace):
            if not _holds(wrap, event) or wrap.order > event.order or _wrapped_again(trace, wrap, event):
                continue
            backward = trained_after(trace, wrap.wrapper, event)
            found = None if backward is None else _fault(trace, event, wrap)
            if backward is None or found is None or event.place in told:
                continue
            told.add(event.place)
            yield _told(event, wrap, backward, *found)


def _holds(wrap: ModelWrapped, event: Event) -> bool:
    """Whether a wrapper holds what is changed by then."""
    if isinstance(event, StateLoaded):
        into = {value for _, value in alternatives(event.into)}
        return event.module and not into.isdisjoint({wrap.wrapper, *wrap.parts})
    return isinstance(event, (ModelChanged, ModelMoved)) and wrap.wrapper in event.wrapped


def _told(event: Event, wrap: ModelWrapped, backward: Backward, message: str, remedy: str) -> Fault:
    return Fault(
        place=event.place,
        message=message,
        places=(
            *callers(event),
            Label(place=wrap.place, text="wrapped here"),
            Label(place=backward.place, text="trained on here"),
        ),
        about=wrap.wrapper,
        event=event,
        fix=Fix(description=remedy),
    )


def _fault(trace: Predicted, event: Event, wrap: ModelWrapped) -> Found | None:
    if isinstance(event, ModelMoved):
        before = _type_before(trace, wrap, event)
        return (CAST, "change the type before the wrap") if event.dtype not in (None, before) else None
    if isinstance(event, StateLoaded):
        return (LOADED, "load on every rank, or before the wrap") if _on_some_ranks(trace, event) else None
    if not isinstance(event, ModelChanged):
        return None
    if event.what == "layer":
        return LAYER, "put the layer in before the wrap, or wrap anew: model = DDP(model.module)"
    if event.what == "values" and _each_rank_its_own(trace, event):
        return DRAWN, "initialise before the wrap: DDP's constructor sends rank 0's values to all"
    return _learning(trace, event, wrap) if event.what == "requires_grad" else None


def _learning(trace: Predicted, event: ModelChanged, wrap: ModelWrapped) -> Found | None:
    """Return what is wrong with parameters that stop learning or begin to."""
    changes = [one for one in trace.of(ModelChanged) if one.what == "requires_grad" and wrap.wrapper in one.wrapped]
    values = [one.value for one in changes if one.order > wrap.order]
    frozen = _says(event.value, False) and not _of_the_whole(event, wrap) and not _was_frozen(trace, event, wrap)
    if frozen and _waits_for_all(wrap) and _trained_until_thawed(trace, event, wrap, changes):
        return FROZEN, "freeze before the wrap, or wrap anew after the change: model = DDP(model.module)"
    if _says(event.value, True) and _was_frozen(trace, event, wrap) and all(_says(value, True) for value in values):
        return THAWED, "wrap with everything that is to learn, or wrap anew after the change: DDP(model.module)"
    return None


def _trained_until_thawed(
    trace: Predicted, event: ModelChanged, wrap: ModelWrapped, changes: list[ModelChanged]
) -> bool:
    """Whether a training forward comes while the parameters are frozen, before anything may thaw them."""
    thaws = [
        one.order
        for one in changes
        if one.order > event.order and not _says(one.value, False) and compatible(one.when, event.when)
    ]
    end = min(thaws, default=math.inf)
    return any(
        event.order < forward.order < end and compatible(forward.when, event.when)
        for forward, _ in training_forwards(trace, wrap.wrapper)
    )


def _type_before(trace: Predicted, wrap: ModelWrapped, event: ModelMoved) -> str:
    """Return the type of number of the parameters until then: what the model was put into last."""
    found = "float32"
    for one in trace.of(ModelMoved):
        mine = one.order < event.order and one.model in (wrap.wrapper, *wrap.parts, *wrap.inside)
        found = one.dtype if mine and one.dtype is not None and compatible(one.when, event.when) else found
    return found


def _on_some_ranks(trace: Predicted, event: StateLoaded) -> bool:
    """Whether only some ranks load a state, and nothing can send it to the others afterwards."""
    others = [one for one in trace.of(StateLoaded) if one is not event and one.module]
    if not for_some_ranks_only(event) or completed(event, others) or _loaded_over(event, others):
        return False
    sent = (one for one in trace.of(Collective) if one.op.startswith(("broadcast", "scatter")))
    return not any(one.order > event.order for one in sent)


def _loaded_over(event: StateLoaded, others: list[StateLoaded]) -> bool:
    """Whether every rank loads another state into the same model afterwards, wherever these ranks have loaded this."""
    later = (one for one in others if one.order > event.order and one.process == event.process)
    return any(one.into == event.into and one.when <= event.when for one in later)


def _says(value: Value | None, answer: bool) -> bool:
    return isinstance(value, Constant) and value.value is answer


def _waits_for_all(wrap: ModelWrapped) -> bool:
    return option(wrap, "find_unused_parameters") is False and option(wrap, "static_graph") is False


def _wrapped_again(trace: Predicted, wrap: ModelWrapped, event: Event) -> bool:
    """Whether the model is wrapped anew after the change."""
    return any(
        other.order > event.order
        and not _refs(other.model).isdisjoint(_refs(wrap.model))
        and compatible(other.when, event.when)
        for other in replicas(trace)
    )


def _refs(model: Value) -> set[Value]:
    return {value for _, value in alternatives(model) if isinstance(value, Ref)}


def _of_the_whole(event: ModelChanged, wrap: ModelWrapped) -> bool:
    """Whether the whole wrapped model stops learning, as a teacher does: then no gradient is waited for."""
    whole = event.model in {wrap.wrapper, *_refs(wrap.model)} and not event.part
    return whole and not any(literal.atom.text.find(CHOSEN) >= 0 for literal in literals(event.when))


def _was_frozen(trace: Predicted, event: ModelChanged, wrap: ModelWrapped) -> bool:
    """Whether what is changed was, by all that is known, not learning when the model was wrapped."""
    earlier = [
        other
        for other in trace.of(ModelChanged)
        if other.what == "requires_grad" and other.order < wrap.order and _overlap(other, event)
    ]
    return bool(earlier) and _says(earlier[-1].value, False)


def _overlap(first: ModelChanged, second: ModelChanged) -> bool:
    """Whether a change is certainly of all that another one is of, or of a part of it."""
    if first.process != second.process or not compatible(first.when, second.when):
        return False
    if first.model == second.model:
        return first.part == second.part or not second.part
    return first.model in second.inside or second.model in first.inside


def _each_rank_its_own(trace: Predicted, event: ModelChanged) -> bool:
    """Whether the ranks' generators differ by then, and nothing sends one rank's values to the others later.

    One that nobody seeds begins with a number that the system draws (ATen/CPUGeneratorImpl.cpp: ``createCPUGenerator``
    with ``getNonDeterministicRandom``; torch 1.0 to 2.14).
    """
    seeds = [one for one in trace.before(event, Seeded) if "rank" in one.value.taint or one.by.startswith("torch.")]
    if seeds and "rank" not in seeds[-1].value.taint:
        return False
    if not seeds and (not trace.complete or any("seed" in call.call.lower() for call in trace.of(Unfollowed))):
        return False
    return not any(one.order > event.order and one.op.startswith("broadcast") for one in trace.of(Collective))


CHECK = Check(
    name="changed-after-wrap",
    summary="what learns, layers, types or values are changed on the wrapped model",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ModelChanged, ModelMoved, StateLoaded),
    predict=changed_what_ddp_has_counted,
)

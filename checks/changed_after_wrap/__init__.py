"""What DDP took stock of when it was built is changed afterwards: parameters that learn, layers, initial values."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import Backward, Collective, ModelChanged, ModelWrapped, Seeded
from ddpdoctor.facts import option, replicas, trained_after
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Value

FROZEN = "DDP waits in every backward for the gradients of parameters that stop learning here: the next forward raises"
THAWED = "DDP left these parameters out when it was built: they learn from here on, with gradients of each rank alone"
LAYER = "DDP does not know the layer that is put in here: its gradients are not averaged"
DRAWN = "each rank draws values of its own here, after DDP made the ranks' models equal: they stay different"


def changed_what_ddp_has_counted(trace: Predicted) -> Iterator[Fault]:
    """Find changes of a wrapped model after which it is trained on."""
    told = set()
    for event in trace.of(ModelChanged):
        for wrap in replicas(trace):
            if wrap.wrapper not in event.wrapped or wrap.order > event.order or _wrapped_again(trace, wrap, event):
                continue
            backward = trained_after(trace, wrap.wrapper, event)
            found = None if backward is None else _fault(trace, event, wrap)
            if backward is None or found is None or event.place in told:
                continue
            told.add(event.place)
            yield _told(event, wrap, backward, *found)


def _told(event: ModelChanged, wrap: ModelWrapped, backward: Backward, message: str, remedy: str) -> Fault:
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


def _fault(trace: Predicted, event: ModelChanged, wrap: ModelWrapped) -> tuple[str, str] | None:
    if event.what == "layer":
        return LAYER, "put the layer in before the wrap, or wrap anew: model = DDP(model.module)"
    if event.what == "values" and _each_rank_its_own(trace, event):
        return DRAWN, "initialise before the wrap: DDP's constructor sends rank 0's values to all"
    if event.what == "requires_grad" and not _toggled(trace, wrap) and not _of_the_whole(event, wrap):
        if _says(event.value, False) and _waits_for_all(wrap) and not _was_frozen(trace, event, wrap):
            return FROZEN, "freeze before the wrap, or wrap anew after the change: model = DDP(model.module)"
        if _says(event.value, True) and _was_frozen(trace, event, wrap):
            return THAWED, "wrap with everything that is to learn, or wrap anew after the change: DDP(model.module)"
    return None


def _says(value: Value | None, answer: bool) -> bool:
    return isinstance(value, Constant) and value.value is answer


def _waits_for_all(wrap: ModelWrapped) -> bool:
    return option(wrap, "find_unused_parameters") is False and option(wrap, "static_graph") is False


def _wrapped_again(trace: Predicted, wrap: ModelWrapped, event: ModelChanged) -> bool:
    """Whether the model is wrapped anew after the change."""
    return any(
        other.order > event.order and other.model == wrap.model and compatible(other.when, event.when)
        for other in replicas(trace)
    )


def _toggled(trace: Predicted, wrap: ModelWrapped) -> bool:
    """Whether the model is frozen and thawed in turn, as a discriminator is, or set to a value that is not known."""
    values = [
        other.value
        for other in trace.of(ModelChanged)
        if other.what == "requires_grad" and wrap.wrapper in other.wrapped and other.order > wrap.order
    ]
    return not (all(_says(value, True) for value in values) or all(_says(value, False) for value in values))


def _of_the_whole(event: ModelChanged, wrap: ModelWrapped) -> bool:
    """Whether the whole wrapped model stops learning, as a teacher does: then no gradient is waited for."""
    whole = event.model == wrap.wrapper or event.model == wrap.model
    return whole and not event.part and event.when <= wrap.when and _says(event.value, False)


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
    """Whether the ranks' generators differ by then, and nothing sends one rank's values to the others later."""
    seeds = [one for one in trace.before(event, Seeded) if "rank" in one.value.taint or one.by.startswith("torch.")]
    if not seeds or "rank" not in seeds[-1].value.taint:
        return False
    return not any(one.order > event.order and one.op.startswith("broadcast") for one in trace.of(Collective))


CHECK = Check(
    name="changed-after-wrap",
    summary="parameters that learn, layers or initial values are changed on the wrapped model",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(ModelChanged,),
    predict=changed_what_ddp_has_counted,
)

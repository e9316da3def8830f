"""A training loss whose forward goes around DDP: its gradients are never averaged."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import DATA_PARALLEL, Backward, Collective, Forward, ModelWrapped, OptimizerStep
from ddpdoctor.finding import Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.named import NamedTuple
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Ref, Value, alternatives

Nets: TypeAlias = Mapping[Ref, frozenset[Ref]]
"""What each wrapper was made around."""
REDUCTIONS = ("all_reduce", "all_gather", "reduce")
"""How the names of the collectives begin with which gradients are averaged by hand."""


def loss_goes_around_ddp(trace: Predicted) -> Iterator[Fault]:
    """Find backward passes of losses that come from a wrapped model and never from its wrapper."""
    forwards = {event.order: event for event in trace.of(Forward)}
    nets = {wrap.wrapper: _refs(wrap.model) for wrap in trace.of(ModelWrapped)}
    for backward in trace.of(Backward):
        came_from = [forwards[order] for order in backward.forwards if order in forwards]
        around = [event for event in came_from if _goes_around(trace, event, came_from, backward, nets)]
        if not around:
            continue
        if _averaged_by_hand(trace, backward) or _is_only_asked(trace, backward):
            continue
        yield Fault(
            place=around[0].place,
            message="this forward goes around DDP: its gradients are never averaged, and the replicas drift apart",
            places=(Label(place=backward.place, text="the backward of its loss"), *_wraps(trace, around[0])),
            event=around[0],
            fix=Fix(description="call the wrapped model itself: model(x), not model.module(x)"),
        )


def _goes_around(trace: Predicted, event: Forward, came_from: list[Forward], backward: Backward, nets: Nets) -> bool:
    """Whether DDP averages no gradients of a forward: it is not of its wrapper, nor is another of the same loss.

    Where the loss came through the wrapper of another model, that one's reducer averages only its own: this one is a
    fault where the optimizer then steps it. A network that is only asked, as a discriminator is, steps another time.
    """
    if event.via != "module" or not event.grad or _is_of_one_process(trace, event):
        return False
    through = [other for other in came_from if other.via == "wrapper" and compatible(other.when, event.when)]
    if not through:
        return True
    known = all(one.wrappers for one in (event, *through))
    own = _holding(event, nets)
    if not known or any(own & _holding(other, nets) for other in through):
        return False
    following = (one.order for one in trace.with_(backward, Backward) if one.order > backward.order)
    until = next(following, math.inf)
    steps = (one for one in trace.with_(backward, OptimizerStep) if backward.order < one.order < until)
    return any(own & frozenset(step.models) for step in steps)


def _is_of_one_process(trace: Predicted, event: Forward) -> bool:
    """Whether a forward goes around ``nn.DataParallel``, which averages nothing: a backbone taken out of it, say."""
    how = {wrap.wrapper: wrap.how for wrap in trace.of(ModelWrapped)}
    return bool(event.wrappers) and all(how.get(wrapper) == DATA_PARALLEL for wrapper in event.wrappers)


def _holding(event: Forward, nets: Nets) -> frozenset[Ref]:
    """Return the wrappers of a forward and the models that they were made around."""
    return frozenset(event.wrappers).union(*(nets.get(wrapper, frozenset()) for wrapper in event.wrappers))


def _refs(model: Value) -> frozenset[Ref]:
    return frozenset(option for _, option in alternatives(model) if isinstance(option, Ref))


def _averaged_by_hand(trace: Predicted, backward: Backward) -> bool:
    """Whether a loop (over the parameters) reduces something between a backward and the step that follows it."""
    steps = (event.order for event in trace.with_(backward, OptimizerStep) if event.order > backward.order)
    step = next(steps, math.inf)
    around = {loop.place for loop in backward.loops}
    for event in trace.with_(backward, Collective):
        own_loop = any(loop.place not in around for loop in event.loops)
        if backward.order < event.order < step and own_loop and event.op.startswith(REDUCTIONS):
            return True
    return False


def _is_only_asked(trace: Predicted, backward: Backward) -> bool:
    """Whether no optimizer takes a step in the loop of a backward, nor around it: what it asks for is thrown away.

    Where no loop is around either of them nothing tells.
    """
    steps = trace.with_(backward, OptimizerStep)
    loops = tuple(loop.place for loop in backward.loops)
    others = [tuple(loop.place for loop in step.loops) for step in steps]
    if not loops or not all(others):
        return False
    return bool(others) and not any(one[: len(loops)] == loops or loops[: len(one)] == one for one in others)


def _wraps(trace: Predicted, event: Forward) -> tuple[Label, ...]:
    wraps = [wrap for wrap in trace.of(ModelWrapped) if wrap.process == event.process]
    wraps.sort(key=lambda wrap: wrap.wrapper not in event.wrappers)
    return tuple(Label(place=wrap.place, text="wrapped here") for wrap in wraps[:1])


class Pass(NamedTuple):
    """A backward pass of a run: the forwards since the one before it, and what the script reduced before the step.

    ``stepped`` is whether the optimiser took a step before the next backward.
    """

    backward: Backward
    forwards: tuple[Forward, ...]
    by_hand: tuple[Collective, ...]
    stepped: bool = False


def gradients_stayed_local(fault: Fault, run: Observed) -> Verdict:
    """See whether the backward that followed averaged anything, or the script did it by itself."""
    passes = [
        each
        for rank in run.ranks
        for each in _passes(run, rank)
        if any(label.place.covers(each.backward.place) for label in fault.places)
    ]
    bypassed = [each for each in passes if each.backward.bypassed]
    local = [each.backward for each in bypassed if not each.by_hand]
    if local:
        return confirmed(
            "a backward gave the wrapped model gradients and averaged none",
            backward=local[0].place,
            ranks=sorted({event.rank for event in local if event.rank is not None}),
        )
    if bypassed:
        return not_reached(
            "before the step the script reduces tensors itself, which may be the gradients",
            reduced=bypassed[0].by_hand[0].place,
            collectives=len(bypassed[0].by_hand),
        )
    for each in passes:
        if each.backward.reduced and any(_is_here(event, fault) for event in each.forwards):
            return refuted("the backward of this loss averaged the gradients", backward=each.backward.place)
    if any(each.backward.reduced for each in passes):
        return not_reached("in the rounds of the run this forward did not go around DDP")
    return not_reached("the backward of this loss was not reached")


def _passes(run: Observed, rank: int) -> Iterator[Pass]:
    """Yield the backward passes of a rank."""
    events = [event for event in run if event.rank == rank]
    forwards: list[Forward] = []
    for position, event in enumerate(events):
        if isinstance(event, Forward):
            forwards.append(event)
        elif isinstance(event, Backward):
            after = itertools.takewhile(lambda each: not isinstance(each, OptimizerStep), events[position + 1 :])
            inside = (each for each in events[:position] if any(map(event.place.covers, each.stack)))
            by_hand = tuple(each for each in (*inside, *after) if isinstance(each, Collective) and _averages(each))
            following = (type(each) for each in events[position + 1 :] if isinstance(each, (Backward, OptimizerStep)))
            yield Pass(event, tuple(forwards), by_hand, next(following, None) is OptimizerStep)
            forwards.clear()


def _averages(event: Collective) -> bool:
    """Whether the script itself reduces more than single numbers."""
    return event.origin == "user" and event.op.startswith(REDUCTIONS) and any(map(_is_more, event.shapes))


def _is_more(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) > 1


def _is_here(event: Forward, fault: Fault) -> bool:
    """Whether a forward goes around DDP and was made at the place of a fault, or in what is called there."""
    return event.via == "module" and event.grad and any(map(fault.place.covers, (event.place, *event.stack)))


def nothing_was_ever_averaged(run: Observed) -> Iterator[Fault]:
    """Report the forward of a run in which no gradient of a wrapped model was averaged before any step on any rank.

    A run in which some were is left to the source: what goes around DDP there may be thrown away.
    """
    passes = {rank: list(_passes(run, rank)) for rank in run.ranks}
    if not all(map(_trains_around_ddp, passes.values())) or any(map(_averages, run.of(Collective))):
        return
    backwards = [each.backward for each in passes[run.ranks[0]]]
    if any(label.place.covers(backwards[0].place) for label in _labels(run)):
        return
    around = [event for event in passes[run.ranks[0]][0].forwards if event.via == "module" and event.grad]
    if around:
        yield Fault(
            place=around[-1].place,
            message="this forward goes around DDP: its gradients are never averaged, and the replicas drift apart",
            places=(Label(place=backwards[0].place, text="the backward of its loss"),),
            event=around[-1],
            fix=Fix(description="call the wrapped model itself: model(x), not model.module(x) nor the bare network"),
            verdict=confirmed(
                "no backward of the run averaged gradients of the wrapped model",
                backward=backwards[0].place,
                backwards=len(backwards),
                ranks=list(run.ranks),
            ),
        )


def _trains_around_ddp(passes: list[Pass]) -> bool:
    around = (each.backward.bypassed and not each.backward.reduced and each.stepped for each in passes)
    return bool(passes) and all(around)


def _labels(run: Observed) -> Iterator[Label]:
    """Yield the places of the faults that the source shows."""
    for program in run.predicted:
        for fault in loss_goes_around_ddp(program):
            yield from fault.places


CHECK = Check(
    name="bypassed-ddp-forward",
    summary="a training loss is computed around DDP: its gradients are not averaged",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(Backward,),
    predict=loss_goes_around_ddp,
    judge=gradients_stayed_local,
    observe=nothing_was_ever_averaged,
)

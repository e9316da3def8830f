"""The training step: losses, backward passes and optimisers."""

from collections.abc import Callable, Hashable

from ddpdoctor.events import Backward, OptimizerStep, Seeded
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Choice, Opaque, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.decided import decided
from ddpdoctor.reader.given import models_given_to
from ddpdoctor.reader.library.frameworks import may_replicate
from ddpdoctor.reader.library.layouts import parameter_of
from ddpdoctor.reader.library.provenance import batches_in, forwards_in
from ddpdoctor.reader.library.scaling import emit_step, is_scaler, scaler_in
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def _backward(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    tags = receiver.tags if receiver is not None else NO_TAGS
    if isinstance(receiver, Made) and receiver.path.startswith(("accelerate.", "lightning.", "deepspeed.")):
        tags = call.flow()
        replicated = receiver.path.startswith("accelerate.") and may_replicate(receiver)
        _emit_backward(walk, call, tags, averaged_by=receiver.path if replicated else None)
        return NONE
    if not isinstance(receiver, (Opaque, Made, Attribute, Choice)):
        return None
    _emit_backward(walk, call, tags)
    return NONE


def _emit_backward(walk: Walk, call: Call, tags: Tags, averaged_by: str | None = None) -> None:
    walk.losses.update(tag[1] for tag in tags if isinstance(tag, tuple) and tag[0] == "computed")
    walk.emit(
        Backward,
        call.node,
        forwards=forwards_in(tags),
        batches=batches_in(tags),
        own_part="shard" in tags,
        scaler=scaler_in(tags),
        averaged_by=averaged_by,
        decided=decided(walk).get("decided"),
    )


def _autograd_backward(walk: Walk, call: Call) -> Abstract:
    tags = call.flow()
    _emit_backward(walk, call, tags)
    return NONE


def _step(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    for _, option in options(receiver) if receiver is not None else ():
        if is_optimizer(option):
            emit_step(walk, call, option)
            return NONE
        if is_scaler(option) and call.args:
            emit_step(walk, call, call.args[0])
            return NONE
    return None


def own_step(walk: Walk, receiver: Object, call: Call, run: Callable[[], Abstract]) -> Abstract:
    """Run an optimiser's own ``step``; one that calls no other's is itself the step."""
    before = len(walk.events)
    result = run()
    if not any(isinstance(event, OptimizerStep) for event in walk.events[before:]):
        emit_step(walk, call, receiver)
    return result


def is_optimizer(value: Abstract) -> bool:
    """Whether a value is an optimiser: made as one, or called one where nothing else is known."""
    if isinstance(value, Made):
        last = value.path.rpartition(".")[2].lower()
        if "scheduler" in value.path.lower() or last.endswith("lr"):
            return False
        named = value.path.startswith("torch.optim.") or "optim" in last or last in _OPTIMIZERS
        return named or (last not in _NO_OPTIMIZERS and any(models_given_to(value)))  # whatever made it
    if isinstance(value, Object):
        return any(
            path.startswith("torch.optim.") and "lr_scheduler" not in path for path in value.cls.external_bases()
        )
    if isinstance(value, (Opaque, Attribute)):
        name = text(value).lower()
        return "opt" in name and "sched" not in name and "option" not in name
    return False


_NO_OPTIMIZERS = frozenset({"list", "tuple", "sum", "filter", "chain", "parameters", "named_parameters"})
_OPTIMIZERS = frozenset(
    [
        "adam",
        "adamw",
        "sgd",
        "lars",
        "larc",
        "lamb",
        "fusedadam",
        "fusedsgd",
        "fusedlamb",
        "adafactor",
        "lion",
        "rmsprop",
        "madgrad",
    ]
)


def _optimizer(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


def _seed(walk: Walk, call: Call) -> Abstract:
    if call.args or call.kwargs:
        value = call.args[0] if call.args else next(iter(call.kwargs.values()))
        walk.emit(Seeded, call.node, value=lower(value), by=call.path)
    return NONE


def _seed_generator(walk: Walk, call: Call) -> Abstract | None:
    """``generator.manual_seed(rank)``: what draws from it draws on each rank in an order of its own."""
    receiver = call.receiver
    if not isinstance(receiver, Made) or not receiver.path.endswith("Generator"):
        return None
    receiver.tags |= frozenset(tag for tag in call.flow() if tag in ("rank", "shard"))
    return receiver


def _scale_loss(walk: Walk, call: Call) -> Abstract | None:
    """``amp.scale_loss(loss, optimizer)``: entered, it gives the scaled loss."""
    return Opaque("scaled loss", call.args[0].tags) if call.args else None


def _item(walk: Walk, call: Call) -> Abstract | None:
    """``loss.item()``: a number, as rank-local as its tensor; no gradient flows from it."""
    receiver = call.receiver
    if receiver is None or not isinstance(receiver, (Opaque, Made, Attribute, Choice)):
        return None
    tags = frozenset(tag for tag in receiver.tags if isinstance(tag, str) or _is_mark(tag))
    return Opaque(f"{text(receiver)}.{call.path.rpartition('.')[2]}()", tags)


def _is_mark(tag: Hashable) -> bool:
    return isinstance(tag, tuple) and tag[0] in ("measure", "pooled")


def _register_hook(walk: Walk, call: Call) -> Abstract | None:
    """Follow a hook on a parameter's gradient: one that gives ``.grad`` another tensor changes its layout."""
    hook = call.args[0] if call.args else None
    receiver = call.receiver
    if receiver is None or not isinstance(hook, (Function, Bound)) or parameter_of(receiver) is None:
        return None
    if not call.path.endswith("register_post_accumulate_grad_hook"):
        return None
    walk.hooked = parameter_of(receiver)
    try:
        walk.call_with(hook, receiver, node=call.node)
    finally:
        walk.hooked = None
    return NONE


def _scheduler(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


FUNCTIONS = {
    "torch.autograd.backward": _autograd_backward,
    "torch.manual_seed": _seed,
    "torch.cuda.manual_seed": _seed,
    "torch.cuda.manual_seed_all": _seed,
    "random.seed": _seed,
    "numpy.random.seed": _seed,
    "accelerate.utils.set_seed": _seed,
    "apex.amp.scale_loss": _scale_loss,
}
PREFIXES = {"torch.optim.lr_scheduler.": _scheduler, "torch.optim.": _optimizer}
METHODS = {
    "backward": _backward,
    "manual_seed": _seed_generator,
    "step": _step,
    "item": _item,
    "tolist": _item,
    "register_post_accumulate_grad_hook": _register_hook,
}

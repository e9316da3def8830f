"""Gradient scalers, and the calls that clip gradients."""

from ddpdoctor.events import Backward, GradientsClipped, OptimizerStep, ScalerBuilt, Unscaled
from ddpdoctor.reader.abstract import NONE, TRUE, Abstract, Attribute, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.formulas import truth_of
from ddpdoctor.reader.given import models_given_to
from ddpdoctor.reader.library.provenance import batches_in, forwards_in
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value

_ENABLED_AT = {"torch.cuda.amp.GradScaler": 4, "torch.cpu.amp.GradScaler": 4}
"""Where ``enabled`` stands; torch.amp.GradScaler takes the device first (torch/amp/grad_scaler.py)."""


def is_scaler(value: Abstract) -> bool:
    """Whether a value is a gradient scaler."""
    if isinstance(value, Made):
        return "scaler" in value.path.rpartition(".")[2].lower()
    if isinstance(value, Object):
        return any(path.endswith("GradScaler") for path in value.cls.external_bases())
    return isinstance(value, (Opaque, Attribute)) and "scaler" in text(value).lower()


def scaler_in(tags: Tags) -> Value | None:
    """Return the scaler that a loss was multiplied by, ``None`` where it was by none."""
    for tag in tags:
        if isinstance(tag, tuple) and tag[0] == "scaled":
            return tag[1] if isinstance(tag[1], Ref) else UNKNOWN_VALUE
    return None


def _scaler(walk: Walk, call: Call) -> Abstract:
    scaler = walk.make(call, NO_TAGS)
    enabled = call.argument("enabled", _ENABLED_AT.get(call.path, 5))
    walk.emit(ScalerBuilt, call.node, scaler=scaler.ref, enabled=truth_of(walk, enabled or TRUE, call.node))
    return scaler


def _scale(walk: Walk, call: Call) -> Abstract | None:
    """``scaler.scale(loss)``: the loss, scaled."""
    receiver = call.receiver
    if receiver is None or not is_scaler(receiver) or not call.args:
        return None
    by = receiver.ref if isinstance(receiver, (Made, Object)) else text(receiver)
    return Opaque(f"scaled {text(call.args[0])}", call.flow() | {("scaled", by)})


def _unscale(walk: Walk, call: Call) -> Abstract | None:
    if call.receiver is None or not is_scaler(call.receiver):
        return None
    walk.emit(Unscaled, call.node, scaler=lower(call.receiver))
    return NONE


def _get_scale(walk: Walk, call: Call) -> Abstract | None:
    """``scaler.get_scale()``: who asks for it between the backward and the clipping divides by it."""
    if call.receiver is None or not is_scaler(call.receiver):
        return None
    walk.emit(Unscaled, call.node, scaler=lower(call.receiver), by="get_scale")
    return Opaque("the loss scale", NO_TAGS)


def _clipped(walk: Walk, call: Call) -> Abstract:
    """``clip_grad_norm_(…)``: its result is computed from averaged gradients, so that every rank has the same."""
    walk.emit(GradientsClipped, call.node, by=call.path.rpartition(".")[2])
    return Opaque("norm of the gradients", NO_TAGS)


def _clipped_by_the_model(walk: Walk, call: Call) -> Abstract | None:
    """``fsdp_model.clip_grad_norm_(1.0)``; a framework's own method unscales by itself."""
    receiver = call.receiver
    if isinstance(receiver, Made) and "FullyShardedDataParallel" in receiver.path:
        return _clipped(walk, call)
    return None


def _clamped(walk: Walk, call: Call) -> Abstract | None:
    """``p.grad.data.clamp_(-1, 1)``."""
    owner = call.receiver
    while isinstance(owner, Attribute):
        if owner.name == "grad":
            walk.emit(GradientsClipped, call.node, by="clamp_")
            return NONE
        owner = owner.receiver
    return None


def emit_step(walk: Walk, call: Call, optimizer: Abstract | None) -> None:
    """Record that an optimiser takes a step."""
    ref = optimizer.ref if isinstance(optimizer, (Made, Object)) else None
    made = optimizer.inner if isinstance(optimizer, Object) else optimizer
    models = tuple(dict.fromkeys(models_given_to(made))) if isinstance(made, Made) else ()
    walk.emit(OptimizerStep, call.node, optimizer=ref, models=models)


def _step_of_timm(walk: Walk, call: Call) -> Abstract | None:
    """``loss_scaler(loss, optimizer, clip_grad=…, need_update=…)``: the whole step (timm/utils/cuda.py)."""
    loss, optimizer = call.argument("loss", 0), call.argument("optimizer", 1)
    if loss is None:
        return None
    walk.emit(Backward, call.node, forwards=forwards_in(loss.tags), batches=batches_in(loss.tags))
    before = walk.path
    steps = walk.assuming(truth_of(walk, call.argument("need_update", 7) or TRUE))
    if steps is not None:
        walk.path = steps
        emit_step(walk, call, optimizer)
    walk.path = before
    return NONE


_SCALERS = ("torch.cuda.amp.GradScaler", "torch.cpu.amp.GradScaler", "torch.amp.GradScaler")
_CLIPPING = (
    "torch.nn.utils.clip_grad_norm_",
    "torch.nn.utils.clip_grad_value_",
    "torch.nn.utils.clip_grad_norm",
    "torch.nn.utils.clip_grad.clip_grad_norm_",
    "torch.nn.utils.clip_grad.clip_grad_value_",
    "torch.nn.utils.clip_grad.clip_grad_norm",
    "torch.nn.utils.clip_grads_with_norm_",
    "timm.utils.dispatch_clip_grad",
    "timm.utils.clip_grad.dispatch_clip_grad",
    "timm.utils.adaptive_clip_grad",
    "timm.utils.agc.adaptive_clip_grad",
)
_OF_TIMM = ("NativeScaler", "ApexScaler")

FUNCTIONS = {**dict.fromkeys(_SCALERS, _scaler), **dict.fromkeys(_CLIPPING, _clipped)}
METHODS = {
    "scale": _scale,
    "unscale_": _unscale,
    "get_scale": _get_scale,
    "clip_grad_norm_": _clipped_by_the_model,
    "clamp_": _clamped,
    "clip_": _clamped,
}
CALLED = {f"{home}.{name}": _step_of_timm for home in ("timm.utils", "timm.utils.cuda") for name in _OF_TIMM}

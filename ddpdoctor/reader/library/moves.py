"""Modules and tensors that are moved, and modules that are put into a mode: methods that give the object back."""

from ddpdoctor.reader.abstract import Abstract, Choice, External, Known, Opaque, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.changes import moved
from ddpdoctor.reader.library.devices import DEVICE, device_of, is_cpu, use_device
from ddpdoctor.reader.library.layouts import moved_to_layout
from ddpdoctor.reader.library.modes import apply, freeze_each, set_mode
from ddpdoctor.reader.lowering import lower_optional
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def _to(walk: Walk, call: Call) -> Abstract | None:
    """``x.to(device)``, ``model.to(device)``: the same object, on a device if the argument is one."""
    receiver = call.receiver
    if receiver is None or (isinstance(receiver, Known)):
        return None
    target = call.kwargs.get("device") or next((arg for arg in call.args if _may_be_device(arg)), None)
    if target is not None and not is_none(target):
        use_device(walk, target, _described(receiver, "to"), call.node)
    moved_to_layout(walk, call)
    _moved(walk, call, target)
    return _same(walk, receiver, call)


def _moved(walk: Walk, call: Call, target: Abstract | None) -> None:
    """Note where a module goes, for each device that the target can be."""
    if target is None or is_none(target):
        somewhere = call.open or any(not isinstance(arg, External) for arg in call.args)
        moved(walk, call, "unknown" if somewhere else None)
        return
    before = walk.path
    for when, option in options(target):
        here = walk.assuming_also(when)
        if here is not None:
            walk.path = here
            device = device_of(option)
            kind = "cpu" if is_cpu(option) else "cuda" if device.cuda else "unknown"
            moved(walk, call, kind, lower_optional(device.index) if kind == "cuda" else None)
        walk.path = before


def _may_be_device(value: Abstract) -> bool:
    if isinstance(value, Known):
        return isinstance(value.value, (str, int)) and not isinstance(value.value, bool)
    if isinstance(value, Made):
        return value.path == DEVICE
    return isinstance(value, (Opaque, Choice))


def _cuda(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if receiver is None or isinstance(receiver, Known):
        return None
    target = call.argument("device", 0)
    if target is None and isinstance(receiver, Made) and _is_without_tensors(receiver):
        return receiver
    use_device(walk, None if is_none(target) else target, _described(receiver, "cuda"), call.node)
    if target is None or is_none(target):
        moved(walk, call, "cuda")
    else:
        for _, option in options(target):
            moved(walk, call, "cuda", lower_optional(device_of(option).index or option))
    return _same(walk, receiver, call)


def _is_without_tensors(module: Made) -> bool:
    """Whether a module has nothing to move: a loss that no weights were given to."""
    return (
        module.path.startswith("torch.nn.")
        and module.path.endswith("Loss")
        and not module.args
        and not module.kwargs.keys() - PLAIN
    )


PLAIN = frozenset({"reduction", "label_smoothing", "ignore_index", "size_average", "reduce"})
"""Arguments of losses that are no tensors."""


def _described(receiver: Abstract, method: str) -> str:
    single = next((option for _, option in options(receiver)), receiver)
    what = (
        "module" if isinstance(single, (Object, Made)) and getattr(single, "path", "") != "torch.tensor" else "tensor"
    )
    return f"{what}.{method}"


def _same(walk: Walk, receiver: Abstract, call: Call) -> Abstract:
    if isinstance(receiver, (Object, Made, Choice)):
        return receiver
    return Opaque(text(receiver), receiver.tags, origin=getattr(receiver, "origin", "other"))


def _kept(walk: Walk, call: Call) -> Abstract | None:
    """Methods that return the object they are called on."""
    receiver = call.receiver
    return receiver if isinstance(receiver, (Object, Made, Choice)) else None


def _moded(walk: Walk, call: Call) -> Abstract | None:
    """``train()`` and ``eval()``: noted on the module, and on what it wraps."""
    if call.receiver is None:
        return None
    mode = known(call.argument("mode", 0), True) if call.path.endswith("train") else False
    for _, option in options(call.receiver):
        set_mode(walk, option, bool(mode))
        if isinstance(option, Opaque) and not mode:
            freeze_each(walk, option)
    return _kept(walk, call)


METHODS = {
    "to": _to,
    "cuda": _cuda,
    "train": _moded,
    "eval": _moded,
    "apply": apply,
    **dict.fromkeys(
        [
            "share_memory",
            "to_empty",
            "type",
            "xpu",
        ],
        _kept,
    ),
}

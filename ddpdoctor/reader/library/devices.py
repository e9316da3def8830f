"""CUDA devices: which is selected, which are used, and from which call on the visible ones are fixed."""

import ast
import re

from ddpdoctor.condition import negation
from ddpdoctor.cuda import NVML_CHECK, TOUCHING
from ddpdoctor.events import CudaTouched, DeviceSelected, DeviceUsed
from ddpdoctor.reader.abstract import NONE, Abstract, Choice, External, Items, Known, Opaque, is_none, known, options
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.environment import is_set_to
from ddpdoctor.reader.formulas import boolean, number
from ddpdoctor.reader.host import is_on_cpu, on_cpu
from ddpdoctor.reader.library.changes import moved
from ddpdoctor.reader.library.layouts import format_named, moved_to_layout
from ddpdoctor.reader.library.norms import apply, set_mode
from ddpdoctor.reader.lowering import lower, lower_optional
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Call, Walk
from ddpdoctor.world import Expression, is_counted

DEVICE = "torch.device"
_INDEX = re.compile("[0-9]{1,4}")


class Device:
    """What a device argument says: whether it is a CUDA device, and its index where it names one."""

    def __init__(self, cuda: bool | None, index: Abstract | None) -> None:
        self.cuda = cuda
        self.index = index


def device_of(value: Abstract | None) -> Device:
    """Return what a single value (no choice) says as a device."""
    if value is None or is_none(value):
        return Device(None, None)
    if isinstance(value, Known):
        return _of_constant(value.value)
    if isinstance(value, Made) and value.path == DEVICE:
        return _of_device(value)
    if isinstance(value, Opaque) and value.parts:
        head = known(value.parts[0])
        if isinstance(head, str):
            found = re.match(r"(?:cuda|xpu|hpu):$", head)
            return Device(True, value.parts[1]) if found and len(value.parts) > 1 else Device(None, None)
    worked_out = isinstance(value, Opaque) and number(value) is not None and not is_counted(value.expression)
    if worked_out or (isinstance(value, Opaque) and "rank" in value.tags):
        return Device(True, value)
    if isinstance(value, Opaque):
        return Device(None, value)
    return Device(None, None)


def _of_constant(value: object) -> Device:
    if isinstance(value, bool):
        return Device(False, None)
    if isinstance(value, int):
        return Device(True, Known(value))
    if isinstance(value, str):
        kind, _, index = value.partition(":")
        if kind == "cuda":
            return Device(True, Known(int(index)) if _INDEX.fullmatch(index) else None)
        return Device(False, None)
    return Device(False, None)


def _of_device(value: Made) -> Device:
    kind, index = value.argument("type", 0), value.argument("index", 1)
    if index is not None:
        return Device(known(kind, "cuda") == "cuda" or None, index)
    return device_of(kind) if not isinstance(kind, Choice) else Device(None, kind)


def use_device(walk: Walk, value: Abstract | None, by: str, node: ast.AST) -> None:
    """Record that something goes to a device; nothing where the device is not CUDA or not known."""
    if value is None:
        _used(walk, None, by, node)
        return
    before = walk.path
    for when, option in options(value):
        here = walk.assuming_also(when)
        if here is None:
            continue
        walk.path = here
        device = device_of(option)
        if device.cuda:
            _used(walk, None if is_current(device.index) else device.index, by, node)
        elif device.cuda is None and isinstance(option, Opaque):
            walk.emit(DeviceUsed, node, index=None if is_current(option) else lower(option), by=by)
        walk.path = before


def _used(walk: Walk, index: Abstract | None, by: str, node: ast.AST) -> None:
    walk.emit(CudaTouched, node, by=by)
    walk.emit(DeviceUsed, node, index=lower_optional(index), by=by)


def _set_device(walk: Walk, call: Call) -> Abstract:
    value = call.argument("device", 0) or NONE
    walk.emit(CudaTouched, call.node, by=call.path)
    for when, option in options(value):
        here = walk.assuming_also(when)
        if here is not None:
            before, walk.path = walk.path, here
            index = device_of(option).index or option
            if not is_current(index):
                walk.emit(DeviceSelected, call.node, index=lower(index), how=call.path)
            walk.path = before
    return NONE


def _device(walk: Walk, call: Call) -> Abstract:
    """``torch.device("cuda" if torch.cuda.is_available() else "cpu")`` is one of two devices."""
    kind = call.argument("type", 0)
    if not isinstance(kind, Choice) or call.argument("index", 1) is not None:
        return walk.make(call, path=DEVICE)
    each = ((when, call._replace(args=(option,), kwargs={})) for when, option in options(kind))
    return choice((when, walk.make(one, path=DEVICE)) for when, one in each)


def _device_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    found = device_of(value)
    if name == "index":
        return found.index or (NONE if found.cuda else None)
    if name == "type":
        return Known("cuda") if found.cuda else Known("cpu") if found.cuda is False else None
    return None


def _is_available(walk: Walk, call: Call) -> Abstract:
    before, here = walk.path, walk.assuming(negation(is_set_to(walk, NVML_CHECK, "1")))
    if here is not None:
        walk.path = here
        walk.emit(CudaTouched, call.node, by=call.path)
        walk.path = before
    return boolean(walk.literal("CUDA is available", "other", None, call.node))


def _device_count(walk: Walk, call: Call) -> Abstract:
    return Opaque("number of GPUs", frozenset({"world"}), expression=Expression("local_world_size"))


def _touching(walk: Walk, call: Call) -> Abstract:
    walk.emit(CudaTouched, call.node, by=call.path)
    return Opaque(f"{call.path}()", call.flow())


def _current_device(walk: Walk, call: Call) -> Abstract:
    """Return the current device: what was selected, which here means the local rank where a rank selected it."""
    walk.emit(CudaTouched, call.node, by=call.path)
    selected = [event for event in walk.events if isinstance(event, DeviceSelected) and event.process == walk.process]
    if selected:
        return Opaque("current device", frozenset({"rank"}), expression=Expression("local_rank"), origin="rank")
    return Opaque(CURRENT)


CURRENT = "current device"


def is_current(index: Abstract | None) -> bool:
    """Whether an index is that of the current device, where nothing has selected one: as good as none."""
    return isinstance(index, Opaque) and index.name == CURRENT and index.expression is None


def _accelerator(walk: Walk, call: Call) -> Abstract:
    return Opaque("the accelerator")


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
            kind = "cpu" if _is_cpu(option) else "cuda" if device.cuda else "unknown"
            moved(walk, call, kind, lower_optional(device.index) if kind == "cuda" else None)
        walk.path = before


def _is_cpu(value: Abstract) -> bool:
    named = value.argument("type", 0) if isinstance(value, Made) and value.path == DEVICE else value
    return known(named) == "cpu"


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
    use_device(walk, None if is_none(target) else target, _described(receiver, "cuda"), call.node)
    if target is None or is_none(target):
        moved(walk, call, "cuda")
    else:
        for _, option in options(target):
            moved(walk, call, "cuda", lower_optional(device_of(option).index or option))
    return _same(walk, receiver, call)


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
    return _kept(walk, call)


def _default_device_context(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract] | None:
    """``with torch.device("cuda"):`` what is made inside is made there."""
    walk.other_default_device = True
    return "with", NONE


def _cuda_device_context(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract] | None:
    if not isinstance(manager, Made):
        return None
    index = manager.argument("device", 0)
    if index is not None:
        walk.emit(DeviceSelected, node, index=lower(device_of(index).index or index), how="torch.cuda.device")
    return "with", NONE


def _factory(walk: Walk, call: Call) -> Abstract | None:
    """A tensor made on a device."""
    device = call.kwargs.get("device")
    if device is not None and not is_none(device):
        use_device(walk, device, call.path, call.node)
    flow = frozenset(
        tag for tag in call.flow() if not (tag == "rank" and device is not None and _only_by(call, device))
    )
    layout = format_named(call.kwargs.get("memory_format"))
    if layout is not None:
        flow |= {("layout", layout)}
    tensor = Opaque(f"{call.path.rpartition('.')[2]} in {walk.line(call.node)}", flow)
    return on_cpu(tensor) if _made_on_cpu(walk, call, device) else tensor


def _made_on_cpu(walk: Walk, call: Call, device: Abstract | None) -> bool:
    """Whether a new tensor is on the CPU: of none named, unless another is the default or it is made like another."""
    if device is not None and not is_none(device):
        return _is_cpu(device)
    if call.open or walk.other_default_device:
        return False
    if call.path.endswith(("_like", "as_tensor", ".tensor")):
        first = call.args[0] if call.args else None
        return is_on_cpu(first) or (not call.path.endswith("_like") and _is_no_tensor(first))
    return True


def _is_no_tensor(value: Abstract | None) -> bool:
    """Whether a value is a number or a list, of which a tensor is made on the CPU."""
    if isinstance(value, Opaque):
        return ".item()" in value.name or value.name.startswith("len(")
    return isinstance(value, (Known, Items))


def _only_by(call: Call, device: Abstract) -> bool:
    """Whether the rank touches a new tensor only as its device."""
    others = [value for value in (*call.args, *call.kwargs.values()) if value is not device]
    return not any("rank" in value.tags for value in others)


FUNCTIONS = {
    "torch.cuda.set_device": _set_device,
    "torch.accelerator.set_device_index": _set_device,
    "torch.accelerator.set_device_idx": _set_device,
    "torch.device": _device,
    "torch.cuda.is_available": _is_available,
    "torch.cuda.device_count": _device_count,
    "torch.accelerator.device_count": _device_count,
    "torch.accelerator.is_available": _is_available,
    "torch.accelerator.current_accelerator": _accelerator,
    "torch.cuda.current_device": _current_device,
    "torch.accelerator.current_device_index": _current_device,
    "torch.cuda.Stream": _touching,
    **{f"torch.cuda.{name}": _touching for name in TOUCHING if name != "current_device"},
    **{
        f"torch.{name}": _factory
        for name in (
            [
                "tensor",
                "zeros",
                "ones",
                "empty",
                "full",
                "randn",
                "rand",
                "randint",
                "arange",
                "linspace",
                "eye",
                "as_tensor",
                "zeros_like",
                "ones_like",
                "FloatTensor",
                "DoubleTensor",
                "IntTensor",
                "LongTensor",
                "Tensor",
            ]
        )
    },
}
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
ATTRIBUTES = {DEVICE: _device_attribute}
CONTEXTS = {"torch.cuda.device": _cuda_device_context, DEVICE: _default_device_context}

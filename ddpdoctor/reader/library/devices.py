"""CUDA devices: which is selected, which are used, and from which call on the visible ones are fixed."""

import ast
import re

from ddpdoctor.condition import negation
from ddpdoctor.cuda import NVML_CHECK, TOUCHING
from ddpdoctor.events import CudaTouched, DeviceSelected, DeviceUsed
from ddpdoctor.reader.abstract import NONE, Abstract, Choice, Known, Opaque, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.environment import is_set_to
from ddpdoctor.reader.formulas import boolean, number
from ddpdoctor.reader.lowering import lower, lower_optional
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.walk import Walk
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


def is_cpu(value: Abstract) -> bool:
    """Whether a device is certainly the CPU."""
    named = value.argument("type", 0) if isinstance(value, Made) and value.path == DEVICE else value
    return known(named) == "cpu"


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
}
ATTRIBUTES = {DEVICE: _device_attribute}
CONTEXTS = {"torch.cuda.device": _cuda_device_context, DEVICE: _default_device_context}

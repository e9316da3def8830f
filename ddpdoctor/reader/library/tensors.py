"""Tensors that are made: on which device, in which layout, and what flows into them."""

import ast

from ddpdoctor.condition import as_formula
from ddpdoctor.reader.abstract import Abstract, Attribute, Items, Known, Opaque, is_none
from ddpdoctor.reader.attributes import origin_of
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.formulas import is_about
from ddpdoctor.reader.host import is_on_cpu, on_cpu
from ddpdoctor.reader.lengths import note, rows
from ddpdoctor.reader.library.devices import is_cpu, use_device
from ddpdoctor.reader.library.layouts import format_named
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.tags import of_numbers
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def _factory(walk: Walk, call: Call) -> Abstract | None:
    """A tensor made on a device."""
    device = call.kwargs.get("device")
    if device is not None and not is_none(device):
        use_device(walk, device, call.path, call.node)
    flow = frozenset(
        tag for tag in call.flow() if not (tag == "rank" and device is not None and _only_by(call, device))
    )
    if call.path.rpartition(".")[2] in ONLY_A_SIZE:
        flow -= of_numbers(flow)
    if call.path == "torch.randint" and "generator" not in call.kwargs:
        flow |= {("random", "torch")}
    layout = format_named(call.kwargs.get("memory_format"))
    if layout is not None:
        flow |= {("layout", layout)}
    tensor = Opaque(f"{call.path.rpartition('.')[2]} in {walk.line(call.node)}", flow)
    note(tensor, rows(walk, call))
    return on_cpu(tensor) if _made_on_cpu(walk, call, device) else tensor


ONLY_A_SIZE = frozenset({"zeros", "ones", "empty", "rand", "randn", "eye", "zeros_like", "ones_like"})
"""What is given a size, and takes nothing of what came out of a model whose result has it."""


def _made_on_cpu(walk: Walk, call: Call, device: Abstract | None) -> bool:
    """Whether a new tensor is on the CPU: of none named, unless another is the default or it is made like another."""
    if device is not None and not is_none(device):
        return is_cpu(device)
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


def _viewed(walk: Walk, call: Call) -> Abstract | None:
    """``totals.view(-1)``: the same memory, so that a collective that writes to it writes to ``totals``.

    ``reshape`` and ``contiguous`` copy what lies in memory in another order: no total is made so.
    """
    receiver = call.receiver
    if not isinstance(receiver, (Opaque, Attribute)):
        return None
    tags = receiver.tags | frozenset(tag for tag in call.flow() if isinstance(tag, str))
    layout = format_named(call.kwargs.get("memory_format"))
    if layout is not None:
        tags = frozenset(tag for tag in tags if not (isinstance(tag, tuple) and tag[0] == "layout")) | {
            ("layout", layout)
        }
    view = Opaque(f"{text(receiver)[:80]}.{call.path.rpartition('.')[2]}()", tags, origin=origin_of(receiver))
    view.viewed = receiver
    return view


def _filled(walk: Walk, call: Call) -> Abstract | None:
    """``stop.fill_(1)`` that only some ranks come to: from then on the variable has either of two values."""
    node = (
        call.node.func.value if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute) else None
    )
    path = as_formula(walk.path)
    if not isinstance(call.receiver, Opaque) or not any(is_about(path, kind) for kind in ("rank", "data")):
        return None
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return None
    name = f"{text(call.receiver)} after {walk.line(call.node)}"
    filled = Opaque(name, call.receiver.tags | call.flow(), origin=call.receiver.origin)
    assign(walk, node, filled, call.frame)
    return filled


FILLING = ("fill_", "add_", "copy_", "zero_")

FUNCTIONS = {
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
VIEWS = ("view", "view_as", "reshape", "contiguous", "unflatten", "detach", "squeeze", "unsqueeze", "flatten", "ravel")
METHODS = {**dict.fromkeys(VIEWS, _viewed), **dict.fromkeys(FILLING, _filled)}

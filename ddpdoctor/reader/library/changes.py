"""Changes of a model: what moves it, freezes or thaws it, puts layers into it or draws its parameters anew."""

import ast

from ddpdoctor.atom import ALWAYS
from ddpdoctor.events import ModelChanged, ModelMoved
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Choice, External, Items, Known, Opaque, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.host import is_on_cpu, on_cpu
from ddpdoctor.reader.layer_lists import as_put
from ddpdoctor.reader.library.kinds import APPENDED, WRAPPERS, is_module
from ddpdoctor.reader.library.layouts import format_named, layout_of
from ddpdoctor.reader.library.modules import wrapped_by
from ddpdoctor.reader.library.parts import around, has_parameters, module_of
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref, Value

DTYPES = {
    "torch.half": "float16",
    "torch.float16": "float16",
    "torch.bfloat16": "bfloat16",
    "torch.float": "float32",
    "torch.float32": "float32",
    "torch.double": "float64",
    "torch.float64": "float64",
}
_CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}


def wrappers_of(walk: Walk, module: "Made | Object") -> tuple[Ref, ...]:
    """Return the wrappers that hold a module by now, the module itself among them where it is one."""
    own = (module.ref,) if isinstance(module, Made) and module.path in WRAPPERS else ()
    return own + tuple(dict.fromkeys(wrapper.ref for wrapper in wrapped_by(walk, module)))


def moved(walk: Walk, call: Call, device: str | None = None, index: Value | None = None) -> None:
    """Note that a module is put onto a device, into a type of number or a memory layout."""
    last = call.path.rpartition(".")[2]
    layout = format_named(call.kwargs.get("memory_format"))
    dtype = _CASTS.get(last) or _dtype_in(call)
    if call.receiver is None or (device, layout, dtype) == (None, None, None):
        return
    for when, option in options(call.receiver):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, (Made, Object)) and is_module(option):
            before, walk.path = walk.path, here
            walk.emit(
                ModelMoved,
                call.node,
                model=option.ref,
                device=device,
                index=index,
                dtype=dtype,
                layout=layout,
                wrapped=wrappers_of(walk, option),
            )
            walk.path = before


def _dtype_in(call: Call) -> str | None:
    given = (call.kwargs.get("dtype"), *call.args)
    return next((DTYPES[one.path] for one in given if isinstance(one, External) and one.path in DTYPES), None)


def changed(
    walk: Walk, module: "Made | Object", what: str, node: ast.AST, value: Value | None = None, part: str = ""
) -> None:
    """Note a change of a module or of a part of it."""
    walk.emit(
        ModelChanged,
        node,
        model=module.ref,
        what=what,
        value=value,
        part=part,
        inside=around(module),
        wrapped=wrappers_of(walk, module),
    )


def attribute_written(walk: Walk, value: Abstract, name: str, new: Abstract, node: ast.AST) -> None:
    """Note what writing an attribute of a module, or of a parameter of one, changes of it."""
    if name == "requires_grad":
        for module, part in module_of(value):
            changed(walk, module, "requires_grad", node, lower(new), part)
    elif name == "data":
        layout = layout_of(new)
        for module, part in module_of(value) if layout is not None else ():
            changed(walk, module, "layout", node, lower(Known(layout)), part)
    elif isinstance(value, (Made, Object)):
        layer_put(walk, value, new, node)


def layer_put(walk: Walk, holder: Abstract, new: Abstract, node: ast.AST) -> None:
    """Note that a layer with parameters is put into a module that a wrapper holds already."""
    if not isinstance(holder, (Made, Object)) or not is_module(holder) or not wrapped_by(walk, holder):
        return
    fresh = [option for _, option in options(new) if _is_fresh(walk, option)]
    if fresh:
        changed(walk, holder, "layer", node)


def put_layer(walk: Walk, holder: Made, layer: Abstract, node: ast.AST) -> None:
    """Put a layer at the end of a module that is a list of them."""
    layers = holder.attributes.setdefault(APPENDED, [(ALWAYS, Items([], more=True))])[-1][1]
    layer_put(walk, holder, layer, node)
    if isinstance(layers, Items):
        layers.items.append(as_put(walk, layer))


def _is_fresh(walk: Walk, value: Abstract) -> bool:
    """Whether a value is a layer with parameters that no wrapper holds, and no wrapper itself."""
    wrapper = isinstance(value, Made) and value.path in WRAPPERS
    return not wrapper and has_parameters(value) and not wrapped_by(walk, value)


def _requires_grad(walk: Walk, call: Call) -> Abstract | None:
    """``model.requires_grad_(False)``, of a module or a parameter."""
    receiver = call.receiver
    if receiver is None:
        return None
    value = call.argument("requires_grad", 0) or Known(True)
    for module, part in module_of(receiver):
        changed(walk, module, "requires_grad", call.node, lower(value), part)
    return receiver if isinstance(receiver, (Made, Object, Choice, Opaque, Attribute)) else None


def _cast(walk: Walk, call: Call) -> Abstract | None:
    """``half()``, ``double()`` and the like: of a module, the module itself."""
    moved(walk, call)
    if isinstance(call.receiver, Opaque) and is_on_cpu(call.receiver):
        return on_cpu(Opaque(f"{text(call.receiver)}.{call.path.rpartition('.')[2]}()", call.receiver.tags))
    return call.receiver if isinstance(call.receiver, (Made, Object, Choice)) else None


def _to_cpu(walk: Walk, call: Call) -> Abstract | None:
    moved(walk, call, device="cpu")
    if isinstance(call.receiver, Opaque):
        return on_cpu(Opaque(f"{text(call.receiver)}.cpu()", call.receiver.tags))
    return call.receiver if isinstance(call.receiver, (Made, Object, Choice)) else None


def _drawn(walk: Walk, call: Call) -> Abstract | None:
    """``nn.init.normal_(parameter)``: its values are drawn anew."""
    tensor = call.argument("tensor", 0)
    for module, part in module_of(tensor) if tensor is not None else ():
        changed(walk, module, "values", call.node, part=part)
    return tensor


def _reset(walk: Walk, call: Call) -> Abstract | None:
    for module, part in module_of(call.receiver) if call.receiver is not None else ():
        changed(walk, module, "values", call.node, part=part)
    return None


def _static_graph(walk: Walk, call: Call) -> Abstract | None:
    for _, option in options(call.receiver) if call.receiver is not None else ():
        if isinstance(option, Made) and option.path in WRAPPERS:
            changed(walk, option, "static graph", call.node)
    return NONE


_DRAWING = (
    "uniform_",
    "normal_",
    "trunc_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
)
FUNCTIONS = {f"torch.nn.init.{name}": _drawn for name in _DRAWING}
METHODS = {
    "requires_grad_": _requires_grad,
    "reset_parameters": _reset,
    "cpu": _to_cpu,
    "_set_static_graph": _static_graph,
    **dict.fromkeys(_CASTS, _cast),
}

"""Memory layouts: what a model is put into, and what a tensor that takes a gradient's place has."""

import ast

from ddpdoctor.events import GradientsChanged
from ddpdoctor.reader.abstract import Abstract, Attribute, External, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

CHANNELS_LAST = "channels_last"
ROW_MAJOR = "row-major"
TRANSPOSED = "transposed"

_ROW_MAJOR_CALLS = ("view", "view_as", "reshape", "contiguous", "unflatten", "flatten", "clone")
_TRANSPOSING = ("t", "transpose", "permute", "swapaxes", "movedim")


def moved_to_layout(walk: Walk, call: Call) -> None:
    """Note ``model.to(memory_format=…)``."""
    layout = format_named(call.kwargs.get("memory_format"))
    if layout is None or call.receiver is None:
        return
    for _, option in options(call.receiver):
        if isinstance(option, (Made, Object)):
            walk.layouts.setdefault(option.ref, set()).add(layout)


def format_named(value: Abstract | None) -> str | None:
    """Return the layout that a ``memory_format`` argument can name; a choice that has channels_last counts as it."""
    if value is None:
        return None
    names = [option.path for _, option in options(value) if isinstance(option, External)]
    if any("channels_last" in name for name in names):
        return CHANNELS_LAST
    return ROW_MAJOR if any(name.endswith("contiguous_format") for name in names) else None


def parameter_of(value: Abstract) -> Ref | None:
    """Return the model that a parameter belongs to, or ``None`` when a value is no parameter."""
    for tag in value.tags:
        if isinstance(tag, tuple) and tag[0] == "parameter" and isinstance(tag[1], Ref):
            return tag[1]
    return None


def gradient_written(walk: Walk, value: Abstract, new: Abstract, node: ast.AST) -> None:
    """Note ``p.grad = …``: a tensor of the script's own takes the place of the gradient."""
    model = parameter_of(value)
    if model is None and isinstance(value, Attribute):
        owner: Abstract = value.receiver
        while isinstance(owner, Attribute):
            owner = owner.receiver
        model = owner.ref if isinstance(owner, (Made, Object)) and is_module(owner) else None
    if model is None or known(new, 0) is None:
        return
    layout = layout_of(new)
    usual = CHANNELS_LAST if CHANNELS_LAST in walk.layouts.get(model, ()) else ROW_MAJOR
    walk.emit(
        GradientsChanged,
        node,
        model=model,
        how="preset" if walk.hooked is None else "replaced in a hook",
        layout=layout,
        differs=layout is not None and layout != usual,
    )


def layout_of(value: Abstract) -> str | None:
    """Return a tensor's layout as far as how it was made tells; ``None`` for the parameter's own, or an unknown one."""
    last = text(value).removesuffix("()").rpartition(".")[2]
    if last in _TRANSPOSING or last in ("T", "mT"):
        return TRANSPOSED
    named = next((tag[1] for tag in value.tags if isinstance(tag, tuple) and tag[0] == "layout"), None)
    if named is not None:
        return str(named)
    return ROW_MAJOR if last in _ROW_MAJOR_CALLS else None

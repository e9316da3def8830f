"""Models: what a module is, which BatchNorm layers are in it, and calling one."""

from collections.abc import Callable, Iterator

from ddpdoctor.condition import compatible
from ddpdoctor.events import Forward, Norm, Within
from ddpdoctor.reader.abstract import (
    NO_TAGS,
    NONE,
    TRUE,
    Abstract,
    Choice,
    External,
    Function,
    Items,
    Known,
    Made,
    Object,
    Opaque,
    Table,
    Tags,
    is_none,
    known,
    options,
)
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.cells import read, write
from ddpdoctor.reader.functions import call_function
from ddpdoctor.reader.library.kinds import BATCH_NORMS, WRAPPERS, has_batch_norm
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.walk import Call, Walk

MODEL_MAKERS = (
    "torchvision.models.",
    "timm.create_model",
    "timm.models.",
    "segmentation_models_pytorch.",
    "transformers.Auto",
    "torch.hub.load",
    "monai.networks.nets.",
    "diffusers.",
)
CONVERTED = "converted"
"""The hidden attribute of a module whose BatchNorm layers were converted, on any path: an option to do it counts."""
MAX_DEPTH = 8
"""How deep modules are looked for inside modules."""


def is_module(value: Abstract) -> bool:
    """Whether a value is a model or a layer."""
    if isinstance(value, Object):
        return any(_is_module_class(path) for path in value.cls.external_bases())
    if not isinstance(value, Made):
        return False
    if value.path in WRAPPERS or value.path.startswith(MODEL_MAKERS):
        return True
    head, _, last = value.path.rpartition(".")
    return head == "torch.nn" and last[:1].isupper() and last != "Parameter"


def _is_module_class(path: str) -> bool:
    last = path.rpartition(".")[2]
    return (
        last.endswith("Module")
        or path.startswith(("torch.nn.", "torchvision.models.", "timm.models."))
        or last in ("PreTrainedModel", "ModelMixin", "GenerationMixin", "MessagePassing")
    )


def call_module(walk: Walk, callee: "Object | Made", call: Call) -> Abstract:
    """Call a model: its forward, through a wrapper, around one, or of a model that has none."""
    if isinstance(callee, Made) and callee.path.endswith("Loss"):
        return Opaque("loss", call.flow())
    return entered(walk, callee, call, lambda: _forward(walk, callee, call))


def entered(walk: Walk, callee: "Object | Made", call: Call, run: Callable[[], Abstract]) -> Abstract:
    """Run a model's forward, or a method that computes with it, as what its caller sees: one forward.

    What a model calls inside itself is no forward of its own, but a wrapped model that another one holds is.
    """
    tags = call.flow()
    via = _via(walk, callee)
    if walk.in_forward == 0 or (via != "model" and walk.in_wrapper == 0):
        grad = not any(block.kind == "no_grad" for block in walk.within)
        mode = mode_of(walk, callee)
        event = walk.emit(Forward, call.node, model=lower(callee), via=via, grad=grad, training=mode)
        tags |= {("forward", event.order), "data"}
    inside = via != "model"
    walk.in_forward += 1
    walk.in_wrapper += inside
    block = (Within("forward", walk.place(call.node)),) if inside else ()
    try:
        with walk.inside(*block):
            result = run()
    finally:
        walk.in_forward -= 1
        walk.in_wrapper -= inside
    return tagged(result, tags)


def _via(walk: Walk, callee: "Object | Made") -> str:
    if isinstance(callee, Made) and callee.path in WRAPPERS:
        return "wrapper"
    return "module" if wrapped_by(walk, callee) else "model"


def _forward(walk: Walk, callee: "Object | Made", call: Call) -> Abstract:
    if isinstance(callee, Object):
        forward = class_attribute(walk, callee.cls, "forward")
        if isinstance(forward, Function):
            return call_function(walk, forward, call.with_first(callee))
        return Opaque("output", NO_TAGS)
    inner = callee.inner if callee.path in WRAPPERS else None
    if inner is not None:
        return walk.call(inner, call)
    if callee.path == "torch.nn.Sequential":
        value: Abstract = call.args[0] if call.args else NONE
        for layer in callee.args[:40]:
            if isinstance(layer, Object):
                value = walk.call_with(layer, value, node=call.node)
    return Opaque("output", NO_TAGS)


def tagged(value: Abstract, tags: Tags) -> Abstract:
    """Return a value that more flowed into; the parts of a tuple or dictionary each get it."""
    if isinstance(value, Items):
        found = Items([tagged(item, tags) for item in value.items], value.kind, more=value.open)
        found.extra = value.extra | tags
        return found
    if isinstance(value, Table):
        table = Table({key: [(when, tagged(item, tags)) for when, item in cell] for key, cell in value.cells.items()})
        table.open, table.extra = value.open, value.extra | tags
        return table
    if isinstance(value, Choice):
        return Choice(tuple((when, tagged(option, tags)) for when, option in value.options))
    if isinstance(value, Opaque):
        copy = Opaque(value.name, value.tags | tags, origin=value.origin, default=value.default)
        copy.attributes = value.attributes
        return copy
    if isinstance(value, (Known, Made)):
        return Opaque("output", tags | value.tags) if not is_none(value) else value
    return value


def wrapped_by(walk: Walk, value: Abstract) -> tuple[Made, ...]:
    """Return the wrappers that hold a module, or a module that it is part of, on the present path."""
    found: list[Made] = []
    seen = 0
    owner: Abstract | None = value
    while isinstance(owner, (Object, Made)) and seen < MAX_DEPTH:
        found += [wrapper for when, wrapper in owner.wrappers if compatible(when, walk.path)]
        owner = owner.owner if is_module(owner) else None
        seen += 1
    return tuple(found)


MODE = "mode"
"""The hidden attribute that holds whether a module was put into training or evaluation mode."""


def set_mode(walk: Walk, value: Abstract, training: bool) -> None:
    """Note the mode that a module is put into; a wrapper hands it on, an own ``train`` method has its say."""
    if not isinstance(value, (Made, Object)) or not is_module(value):
        return
    write(value.attributes, MODE, walk.path, Known(training))
    if isinstance(value, Made) and value.inner is not None and value.path in WRAPPERS:
        for _, option in options(value.inner):
            set_mode(walk, option, training)


def mode_of(walk: Walk, value: Abstract) -> bool | None:
    """Return whether a module is in training mode; ``None`` when nothing has set it."""
    cell = value.attributes.get(MODE) if isinstance(value, (Made, Object)) else None
    found = read(cell, walk.path) if cell else None
    return bool(found.value) if isinstance(found, Known) else None


def _run_own_train(walk: Walk, value: Object) -> None:
    """Run a module's own ``train`` method, which may keep parts of it in evaluation mode."""
    method = class_attribute(walk, value.cls, "train")
    if isinstance(method, Function):
        walk.call_with(method, value, TRUE, node=value.cls.node)


def unconverted_norms(walk: Walk, value: Abstract) -> Iterator[Norm]:
    """Yield the BatchNorm layers of a model that nothing has converted, each place once."""
    seen: set[int] = set()
    places: set[object] = set()
    for _, option in options(value):
        if isinstance(option, Object) and is_module(option):
            _run_own_train(walk, option)
    for norm in _norms(walk, value, seen, 0):
        if norm.place not in places:
            places.add(norm.place)
            yield norm


def _norms(walk: Walk, value: Abstract, seen: set[int], depth: int) -> Iterator[Norm]:
    if depth > MAX_DEPTH or id(value) in seen or len(seen) > 4000:
        return
    seen.add(id(value))
    if isinstance(value, Choice):
        for when, option in options(value):
            if walk.assuming_also(when) is not None:
                yield from _norms(walk, option, seen, depth)
    elif isinstance(value, Items):
        for item in value.items:
            yield from _norms(walk, item, seen, depth + 1)
    elif isinstance(value, Table):
        for cell in value.cells.values():
            yield from _norms(walk, read(cell, walk.path), seen, depth + 1)
    elif isinstance(value, (Made, Object)):
        frozen = depth > 0 and mode_of(walk, value) is False
        if not frozen and CONVERTED not in value.attributes:
            yield from _norms_of_module(walk, value, seen, depth)


def _norms_of_module(walk: Walk, value: "Made | Object", seen: set[int], depth: int) -> Iterator[Norm]:
    if isinstance(value, Made):
        if value.path in BATCH_NORMS:
            yield Norm("", value.path, value.ref.place)
            return
        if _is_model_with_norms(value):
            yield Norm("", value.path, value.ref.place)
            return
        parts = [*value.args, *value.kwargs.values()] if is_module(value) else []
        if value.inner is not None:
            parts.append(value.inner)
    else:
        if not is_module(value):
            return
        if any(path in BATCH_NORMS for path in value.cls.external_bases()):
            yield Norm("", value.cls.name, value.ref.place)
            return
        parts = []
    held = [read(cell, walk.path) for name, cell in value.attributes.items() if name not in (CONVERTED, MODE)]
    for part in (*parts, *held):
        yield from _norms(walk, part, seen, depth + 1)


def _is_model_with_norms(value: Made) -> bool:
    if not value.path.startswith(("torchvision.models.", "timm.", "torch.hub.load")):
        return False
    layer = value.argument("norm_layer")
    if layer is not None and not is_none(layer):
        return isinstance(layer, External) and layer.path in BATCH_NORMS
    name = value.path
    if value.path.startswith("timm.create_model"):
        name = _name_or_default(value.argument("model_name", 0))
    elif value.path == "torch.hub.load":
        name = _name_or_default(value.argument("model", 1))
    elif value.path == "torchvision.models.get_model":
        name = _name_or_default(value.argument("name", 0))
    return has_batch_norm(name)


def _name_or_default(value: Abstract | None) -> str:
    if isinstance(value, Opaque) and value.default is not None:
        value = value.default
    return str(known(value, ""))


def _parameters(walk: Walk, call: Call) -> Abstract | None:
    """``model.parameters()`` and the like: an object over the model, from which nothing of the data flows."""
    receiver = call.receiver
    if isinstance(receiver, (Made, Object)) and is_module(receiver):
        made = walk.make(call._replace(args=(receiver,)), NO_TAGS)
        made.inner = receiver
        return made
    return None


def _state_dict(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if isinstance(receiver, (Made, Object, Opaque)):
        made = walk.make(call._replace(args=()), NO_TAGS)
        made.inner = receiver if isinstance(receiver, (Made, Object)) else None
        return made
    return None


def _forward_method(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if isinstance(receiver, (Made, Object)) and is_module(receiver):
        return call_module(walk, receiver, call)
    return None


def _add_module(walk: Walk, call: Call) -> Abstract | None:
    if isinstance(call.receiver, Object) and len(call.args) == 2:
        name = known(call.args[0])
        walk.set(
            call.receiver, name if isinstance(name, str) else f"module {id(call.args[1])}", call.args[1], call.node
        )
    return NONE


def _torchvision_model(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


def _layer(walk: Walk, call: Call) -> Abstract | None:
    last = call.path.rpartition(".")[2]
    if not last[:1].isupper() or last == "Module":
        return None
    made = walk.make(call, NO_TAGS)
    for part in (*call.args, *call.kwargs.values()):
        for _, option in options(part):
            for child in option.items if isinstance(option, Items) else (option,):
                if isinstance(child, (Made, Object)) and child.owner is None and is_module(child):
                    child.owner = made
    return made


def mark_converted(walk: Walk, value: Abstract) -> None:
    """Note that a model's BatchNorm layers are SyncBatchNorm from here on, on this path."""
    for _, option in options(value):
        if isinstance(option, (Made, Object)):
            option.attributes[CONVERTED] = [(walk.path, TRUE)]
            if isinstance(option, Made) and option.inner is not None:
                mark_converted(walk, option.inner)


PREFIXES = {"torchvision.models.": _torchvision_model, "timm.create_model": _torchvision_model, "torch.nn.": _layer}
METHODS = {
    "parameters": _parameters,
    "named_parameters": _parameters,
    "modules": _parameters,
    "named_modules": _parameters,
    "children": _parameters,
    "buffers": _parameters,
    "state_dict": _state_dict,
    "forward": _forward_method,
    "add_module": _add_module,
    "register_module": _add_module,
}

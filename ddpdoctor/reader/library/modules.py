"""Models: what a module is, which BatchNorm layers are in it, and calling one."""

from collections.abc import Callable

from ddpdoctor.condition import compatible
from ddpdoctor.events import Forward, Within
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    Attribute,
    Choice,
    Items,
    Known,
    Opaque,
    Table,
    is_none,
    options,
)
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.functions import call_function
from ddpdoctor.reader.library.averaging import synced
from ddpdoctor.reader.library.kinds import WRAPPERS, is_module, layers_of
from ddpdoctor.reader.library.layer_uses import watched
from ddpdoctor.reader.library.modes import mode_of
from ddpdoctor.reader.library.norms import has_fixed_norms
from ddpdoctor.reader.library.provenance import batches_in
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Bound, Function, Made, Object, Partial
from ddpdoctor.reader.tags import NO_TAGS, Tags, measures
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

MAX_LAYERS = 40
"""How many layers of a Sequential are called one after the other."""
MAX_DEPTH = 8
"""How deep modules are looked for inside modules."""


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
    around = _way_around(walk) if walk.in_wrapper else None
    if walk.in_forward == 0 or (via != "model" and walk.in_wrapper == 0) or (via == "wrapper" and around is not None):
        mode, averaged = mode_of(walk, callee), synced(walk, callee)
        grad = not any(block.kind == "no_grad" for block in walk.within)
        event = walk.emit(
            Forward,
            call.node,
            model=lower(callee),
            via=via,
            grad=grad,
            training=mode,
            synced=averaged,
            wrappers=_gone_through(walk, callee, via),
            batches=batches_in(tags),
            fixed_norms=via == "wrapper" and has_fixed_norms(walk, callee),
        )
        tags |= {("forward", event.order), "data"}
        if via == "wrapper" and grad and not measures(tags):
            tags |= {("measure", callee.ref)}  # of whatever batch: in training it is the rank's own
    elif around is not None:
        tags |= {("forward", around.order), "data"}
    inside = via != "model"
    if inside and walk.in_wrapper == 0 and via == "wrapper":
        run = watched(walk, callee, call, run, grad=not any(block.kind == "no_grad" for block in walk.within))
    elif walk.layers is not None:
        walk.layers.setdefault(callee.ref, []).append(walk.path)
    evaluated = walk.evaluates
    if walk.in_forward == 0:
        walk.evaluates = mode_of(walk, callee) is False
    walk.in_forward += 1
    walk.in_wrapper += inside
    block = (Within("forward", walk.place(call.node)),) if inside else ()
    try:
        with walk.inside(*block):
            result = run()
    finally:
        walk.in_forward -= 1
        walk.in_wrapper -= inside
        walk.evaluates = evaluated
    return tagged(result, tags)


def goes_around(walk: Walk, network: Made, call: Call) -> Tags:
    """Say that a method of a wrapped network that is not in the source may compute its loss; return what tells it.

    Only of one whose wrapper is never called until then, nor given, by a function or an object of the script's too:
    what the wrapper's forward left in the network may be what such a method works with.
    """
    shown = network.path != "torch.nn.Module" and is_module(network)
    if shown or walk.in_forward or not call.given():
        return NO_TAGS
    wrappers = wrapped_by(walk, network)
    known = {wrapper.ref for wrapper in wrappers}
    called = (one for one in walk.events if isinstance(one, Forward) and one.via == "wrapper" and one.grad)
    if not known or any(known.intersection(one.wrappers) for one in called):
        return NO_TAGS
    given = [option for value in call.given() for _, option in options(value)]
    if any(isinstance(one, (Bound, Function, Object, Partial)) or getattr(one, "ref", None) in known for one in given):
        return NO_TAGS
    event = walk.emit(
        Forward,
        call.node,
        model=lower(network),
        via="module",
        grad=not any(block.kind == "no_grad" for block in walk.within),
        training=mode_of(walk, network),
        synced=synced(walk, network),
        wrappers=tuple(wrapper.ref for wrapper in wrappers),
    )
    return frozenset({("forward", event.order)})


def _way_around(walk: Walk) -> Forward | None:
    """Return the call of a model's method that went around its wrapper, and that this is in: it may make the loss."""
    around = next((event for event in reversed(walk.events[-LOOK_BACK:]) if isinstance(event, Forward)), None)
    return around if around is not None and around.via == "module" else None


LOOK_BACK = 50
"""How many events ago the method was called at most."""


def _via(walk: Walk, callee: "Object | Made") -> str:
    made = callee.inner if isinstance(callee, Object) else callee
    if isinstance(made, Made) and made.path in WRAPPERS:  # also a class of the script's own with such a base
        return "wrapper"
    return "module" if wrapped_by(walk, callee) else "model"


def _gone_through(walk: Walk, callee: "Object | Made", via: str) -> tuple[Ref, ...]:
    """Return the wrapper that a forward is of, or those that it goes around."""
    if via != "wrapper":
        return tuple(wrapper.ref for wrapper in wrapped_by(walk, callee))
    made = callee.inner if isinstance(callee, Object) else callee
    return tuple({callee.ref: None, made.ref: None} if isinstance(made, Made) else {callee.ref: None})


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
        for layer in layers_of(callee).items[:MAX_LAYERS]:
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
    if isinstance(value, Made) and (value.path.startswith(NO_TENSORS) or is_module(value)):
        return value
    if isinstance(value, (Known, Made)):
        return Opaque("output", tags | value.tags) if not is_none(value) else value
    return value


NO_TENSORS = ("torch.optim.", "torch.utils.data.")
"""What a method of a model may give that is nothing computed: ``model.configure_optimizers()``."""


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


def _parameters(walk: Walk, call: Call) -> Abstract | None:
    """``model.parameters()`` and the like: an object over the model, from which nothing of the data flows."""
    receiver = call.receiver
    if isinstance(receiver, (Made, Object)) and is_module(receiver):
        made = walk.make(call._replace(args=(receiver,)), NO_TAGS)
        made.inner = receiver
        return made
    if isinstance(receiver, Attribute) and call.path.endswith("parameters"):
        return _parameters_of_part(walk, receiver, call)
    return None


def _parameters_of_part(walk: Walk, part: Attribute, call: Call) -> Abstract | None:
    """``model.fc.parameters()`` of a model whose parts the source does not show."""
    holder: Abstract = part
    while isinstance(holder, Attribute):
        holder = holder.receiver
    if not isinstance(holder, (Made, Object)) or not is_module(holder):
        return None
    made = walk.make(call._replace(args=(part,)), NO_TAGS)
    made.inner, made.of_part = holder, True
    return made


def state_dict(walk: Walk, call: Call) -> Abstract | None:
    """``x.state_dict()``: a model's, an optimiser's, a scaler's."""
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


def _torchvision_model(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


def _layer(walk: Walk, call: Call) -> Abstract | None:
    last = call.path.rpartition(".")[2]
    if not last[:1].isupper() or last == "Module":
        return None
    made = walk.make(call, NO_TAGS)
    for part in (*call.args, *call.kwargs.values()):
        for _, option in options(part):
            for child in _held(option):
                if isinstance(child, (Made, Object)) and child.owner is None and is_module(child):
                    child.owner = made
    return made


def _held(value: Abstract) -> list[Abstract]:
    """Return the values that a list or dictionary holds, or the one value."""
    if isinstance(value, Table):
        return [one for cell in value.cells.values() for _, one in cell]
    return value.items if isinstance(value, Items) else [value]


PREFIXES = {
    **dict.fromkeys(("torchvision.models.", "sync_batchnorm.Sync"), _torchvision_model),
    "sync_batchnorm.batchnorm.Sync": _torchvision_model,
    "torch.nn.": _layer,
}
METHODS = {
    "parameters": _parameters,
    "named_parameters": _parameters,
    "modules": _parameters,
    "named_modules": _parameters,
    "children": _parameters,
    "named_children": _parameters,
    "buffers": _parameters,
    "state_dict": state_dict,
    "forward": _forward_method,
}

"""Training and evaluation mode: which modules were put into it, and which of their BatchNorm layers one by one."""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import as_formula
from ddpdoctor.reader.abstract import (
    NONE,
    TRUE,
    Abstract,
    Choice,
    Known,
    Opaque,
    known,
    options,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read, write
from ddpdoctor.reader.library.kinds import BATCH_NORMS, WRAPPERS, is_module
from ddpdoctor.reader.objects import Function, Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import holds_by_default

FROZEN = "frozen"
"""The hidden attribute of a module whose BatchNorm layers were put into evaluation mode, one by one."""


PARTLY = ("partly", "in evaluation mode")
"""The hidden attribute of a module of which a part was put into evaluation mode."""


MAX_DEPTH = 8
"""How deep modules are looked for inside modules."""


APPLIED_TO = ("torch.nn.BatchNorm2d", "torch.nn.Conv2d", "torch.nn.Linear")
"""The types of layers on which an applied function is tried."""


MODE = "mode"
"""The hidden attribute that holds whether a module was put into training or evaluation mode."""


def set_mode(walk: Walk, value: Abstract, training: bool) -> None:
    """Note the mode that a module is put into; a wrapper hands it on, an own ``train`` method has its say."""
    if not isinstance(value, (Made, Object)) or not is_module(value):
        return
    if walk.path:  # only on some paths: on the others it is as before
        value.attributes.setdefault(MODE, [(ALWAYS, Opaque("mode"))])
    write(value.attributes, MODE, walk.path, Known(training))
    if training:
        value.attributes.pop(FROZEN, None)
        value.attributes.pop(PARTLY, None)
    else:
        _note_part(walk, value)
    if isinstance(value, Made) and value.inner is not None and value.path in WRAPPERS:
        for _, option in options(value.inner):
            set_mode(walk, option, training)


def _note_part(walk: Walk, part: "Made | Object") -> None:
    """Note on the modules that a part is in that it was put into evaluation mode by itself."""
    owner = part.owner
    for _ in range(MAX_DEPTH):
        if not isinstance(owner, (Made, Object)):
            return
        write(owner.attributes, PARTLY, walk.path, TRUE)
        owner = owner.owner


def freeze_each(walk: Walk, layer: Abstract) -> None:
    """``for layer in model.modules(): if isinstance(layer, nn.BatchNorm2d): layer.eval()``: those of the model.

    A test on the layer that says nothing of normalisation lets others in.
    """
    asked = [literal.atom.text for literal in walk.path if text(layer) in literal.atom.text]
    if asked and not any("Norm" in one for one in asked):
        return
    models = (tag[2] for tag in layer.tags if isinstance(tag, tuple) and tag[0] == "parameter" and tag[3] == ONE)
    for model in models:
        for _, option in options(model):
            held = [option, *(inner for _, inner in options(getattr(option, "inner", None) or NONE))]
            for one in held:
                if isinstance(one, (Made, Object)):
                    write(one.attributes, FROZEN, walk.path, TRUE)


ONE = "one of its modules"
"""What the tag of a layer says that a loop over a model's modules goes to."""


def is_frozen(walk: Walk, model: "Made | Object") -> bool:
    """Whether a model's BatchNorm layers were put into evaluation mode, where no further option is given."""
    cell = model.attributes.get(FROZEN, ())
    return any(holds_by_default(as_formula(when - walk.path)) is not False for when, _ in cell)


def apply(walk: Walk, call: Call) -> Abstract | None:
    """``model.apply(function)``: what the function does is tried on layers of the usual types.

    Whether it puts BatchNorm layers into evaluation mode concerns the model, and what it changes of any layer as well.
    """
    function, receiver = call.argument("fn", 0), call.receiver
    if not isinstance(receiver, (Made, Object, Choice)):
        return None
    if not isinstance(function, Function):
        return receiver
    frozen, owner = False, _first_module(receiver)
    for path in APPLIED_TO:
        tried = Made(path, walk.ref(path, call.node), (), {})
        tried.owner = owner
        walk.call_with(function, tried, node=call.node)
        frozen |= path in BATCH_NORMS and may_be_evaluated(walk, tried)
    if frozen:
        for _, option in options(receiver):
            if isinstance(option, (Made, Object)):
                write(option.attributes, FROZEN, walk.path, TRUE)
    return receiver


def _first_module(value: Abstract) -> "Made | Object | None":
    """Return the first module that a value can be; of a wrapper what it holds."""
    first = next((option for _, option in options(value) if isinstance(option, (Made, Object))), None)
    if isinstance(first, Made) and first.path in WRAPPERS and first.inner is not None:
        return _first_module(first.inner) or first
    return first


def mode_of(walk: Walk, value: Abstract) -> bool | None:
    """Return whether a module is in training mode; ``None`` when nothing has set it."""
    cell = value.attributes.get(MODE) if isinstance(value, (Made, Object)) else None
    found = read(cell, walk.path) if cell else None
    return bool(found.value) if isinstance(found, Known) else None


def may_be_evaluated(walk: Walk, value: "Made | Object") -> bool:
    """Whether a layer was put into evaluation mode, and not only where an option is given."""
    cell = value.attributes.get(MODE)
    modes = options(read(cell, walk.path)) if cell else ()
    return any(known(mode) is False and holds_by_default(as_formula(when)) is not False for when, mode in modes)

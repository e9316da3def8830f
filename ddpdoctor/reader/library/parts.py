"""The parts of a model: which modules are in it, which of them have parameters or buffers, whose part a value is."""

from collections.abc import Iterator
from typing import TypeAlias

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Choice, Items, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.library.architectures import trains_batch_norm
from ddpdoctor.reader.library.kinds import BATCH_NORMS, LAYER_LISTS, WRAPPERS, is_module, layers_of
from ddpdoctor.reader.library.norms import CONVERTED
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

MAX_PARTS = 400
"""How many parts of a model are looked at."""

SYNC_BATCH_NORM = "torch.nn.SyncBatchNorm"

PARAMETRIC = frozenset(
    f"torch.nn.{name}"
    for name in [
        "Linear",
        "Bilinear",
        "LazyLinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "LazyConv2d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "Embedding",
        "EmbeddingBag",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "SyncBatchNorm",
        "GroupNorm",
        "LayerNorm",
        "RMSNorm",
        "LSTM",
        "GRU",
        "RNN",
        "LSTMCell",
        "GRUCell",
        "RNNCell",
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoder",
        "TransformerDecoder",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "PReLU",
    ]
)
"""Layers that have parameters by default."""

_OPTIONAL = {"affine": 1, "elementwise_affine": 1}


def module_of(value: Abstract) -> Iterator[tuple["Made | Object", str]]:
    """Yield the modules that a value is, or is a part or parameter of, with the name of the part where it is one."""
    for _, option in options(value):
        tag = next((one for one in option.tags if isinstance(one, tuple) and one[0] == "parameter"), None)
        if isinstance(option, (Made, Object)):
            if is_module(option):
                yield option, ""
            elif isinstance(option, Made) and option.path == PARAMETER and isinstance(option.owner, (Made, Object)):
                yield option.owner, "a parameter"
        elif tag is not None and isinstance(tag[2], (Made, Object)):
            yield tag[2], str(tag[3])
        elif isinstance(option, Attribute):
            yield from _named_part(option)


PARAMETER = "torch.nn.Parameter"


def _named_part(value: Attribute) -> Iterator[tuple["Made | Object", str]]:
    """Yield the module that ``model.fc.weight`` is a part of, as far as the source shows modules."""
    names: list[str] = []
    holder: Abstract = value
    while isinstance(holder, Attribute):
        names.append(holder.name)
        holder = holder.receiver
    for _, option in options(holder):
        if isinstance(option, (Made, Object)) and is_module(option):
            yield option, ".".join(reversed(names))


def has_parameters(value: Abstract) -> bool:
    """Whether a value is certainly a module with parameters of its own."""
    if isinstance(value, Object):
        return is_module(value) and any(has_parameters(part) or _is_parameter(part) for _, part in held(value))
    if not isinstance(value, Made):
        return False
    if value.path in PARAMETRIC:
        return not any(known(value.argument(name)) is False for name in _OPTIONAL)
    if value.path in LAYER_LISTS or value.path in WRAPPERS:
        return any(has_parameters(part) for _, part in held(value))
    return value.path.startswith("torchvision.models.")


def _is_parameter(value: Abstract) -> bool:
    return (
        isinstance(value, Made) and value.path == PARAMETER and known(value.argument("requires_grad", 1)) is not False
    )


def held(value: "Made | Object") -> Iterator[tuple[str, Abstract]]:
    """Yield what a module holds, each by its name: attributes, layers of a list, the model in a wrapper."""
    parts: list[tuple[str, Abstract]] = [
        (name, cell[-1][1]) if len(cell) == 1 else (name, Choice(tuple(cell)))
        for name, cell in value.attributes.items()
        if isinstance(name, str)
    ]
    if isinstance(value, Made):
        if value.path in LAYER_LISTS:
            parts += [(str(i), layer) for i, layer in enumerate(layers_of(value).items)]
        elif value.path in WRAPPERS and value.inner is not None:
            parts.append(("module", value.inner))
        elif value.path.startswith("torch.nn."):
            parts += [("", one) for one in (*value.args, *value.kwargs.values())]
    elif isinstance(value.inner, Made) and value.inner.path in LAYER_LISTS:  # a class derived from nn.Sequential
        parts += [(str(i), layer) for i, layer in enumerate(layers_of(value.inner).items)]
    for name, part in parts:
        yield from _spread(name, part, 0)


def _spread(name: str, value: Abstract, depth: int) -> Iterator[tuple[str, Abstract]]:
    if isinstance(value, Choice) and depth < MAX_NESTING:
        for _, option in value.options:
            yield from _spread(name, option, depth + 1)
    elif isinstance(value, Items) and depth < MAX_NESTING:
        for item in value.items[:MAX_PARTS]:
            yield from _spread(name, item, depth + 1)
    elif isinstance(value, Table) and depth < MAX_NESTING:
        for cell in value.cells.values():
            yield from _spread(name, read(cell, ALWAYS), depth + 1)
    else:
        yield name, value


MAX_NESTING = 3


def parts_of(value: Abstract) -> Iterator["Made | Object"]:
    """Yield a model and all modules in it, as far as the source shows them, each once."""
    seen: set[int] = set()
    pending = [option for _, option in options(value)]
    while pending and len(seen) < MAX_PARTS:
        one = pending.pop()
        if id(one) in seen or not isinstance(one, (Made, Object)):
            continue
        seen.add(id(one))
        if is_module(one):
            yield one
            pending += [part for _, part in held(one)]


MAX_AROUND = 8
"""How many modules around a module are named."""


def around(module: Abstract) -> tuple[Ref, ...]:
    """Return a module and those that it is part of; a wrapper stands for what it holds."""
    found: list[Ref] = []
    pending: list[Abstract | None] = [module]
    while pending and len(found) < MAX_AROUND:
        one = pending.pop()
        if isinstance(one, Choice):
            pending += [option for _, option in options(one)]
        elif isinstance(one, (Made, Object)) and one.ref not in found and is_module(one):
            found.append(one.ref)
            pending.append(one.owner)
            if isinstance(one, Made) and one.path in WRAPPERS:
                pending.append(one.inner)
    return tuple(found)


Parts: TypeAlias = tuple["Made | Object", ...]
"""A model and all modules in it."""


_KNOWN_PLACES = (
    "torch.",
    "builtins.",
    "math.",
    "numpy.",
    "os.",
    "logging.",
    "functools.",
    "itertools.",
    "collections.",
)


def is_from_elsewhere(value: Made) -> bool:
    """Whether something that a module holds was made by code that may well be a model's, and is not known."""
    return not value.path.startswith(_KNOWN_PLACES) and not is_module(value)


def made_on_the_cpu(walk: Walk, parts: Parts) -> bool:
    """Whether all of a model was certainly made on the CPU: of layers that are known, and with no device named."""
    if walk.other_default_device or any(part.ref in walk.handed_over for part in parts):
        return False
    return bool(parts) and all(map(_made_on_the_cpu, parts))


def _made_on_the_cpu(module: "Made | Object") -> bool:
    if isinstance(module, Made):
        if module.path in (*LAYER_LISTS, "torch.nn.ModuleDict") and not any(map(is_module, _held_objects(module))):
            return False  # what it is filled with is not seen
        known_maker = module.path.startswith(("torch.nn.", "torchvision.models.")) and module.path != "torch.nn.Module"
        return known_maker and "device" not in module.kwargs and (not module.open or _is_filled_by_one_line(module))
    plain = all(path in ("torch.nn.Module", "builtins.object") for path in module.cls.external_bases())
    return plain and not any(
        isinstance(part, Made) and part.path != PARAMETER and is_from_elsewhere(part) for _, part in held(module)
    )


def _is_filled_by_one_line(module: Made) -> bool:
    """Whether all that is seen of ``nn.Sequential(*[Block(w) for …])`` are layers: what is not seen is like them."""
    return module.path in LAYER_LISTS and bool(module.args) and all(map(is_module, module.args))


def _held_objects(module: Made) -> Iterator["Made | Object"]:
    for _, part in held(module):
        if isinstance(part, (Made, Object)):
            yield part


def _default_device(walk: Walk, call: Call) -> Abstract:
    walk.other_default_device = True
    return NONE


def sync_batch_norm_in(walk: Walk, parts: Parts) -> "Made | Object | None":
    """Return a SyncBatchNorm layer of a model, or a part that is certainly converted; ``None`` where none is shown."""
    for part in parts:
        if isinstance(part, Made) and part.path == SYNC_BATCH_NORM:
            return part
        converted = part.attributes.get(CONVERTED)
        if converted and converted[-1][0] <= walk.path and any(_is_batch_norm(inner) for inner in parts_of(part)):
            return part
    return None


def _is_batch_norm(value: "Made | Object") -> bool:
    if isinstance(value, Object):
        return any(path in BATCH_NORMS for path in value.cls.external_bases())
    return value.path in BATCH_NORMS or trains_batch_norm(value)


FUNCTIONS = dict.fromkeys(["torch.set_default_device", "torch.set_default_tensor_type"], _default_device)

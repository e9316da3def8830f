"""BatchNorm layers: which a model has that train, and which were converted or put into evaluation mode."""

import ast
import re
from collections.abc import Iterator

from ddpdoctor.condition import as_formula
from ddpdoctor.events import Norm
from ddpdoctor.reader.abstract import (
    TRUE,
    Abstract,
    Attribute,
    Choice,
    Items,
    Opaque,
    Rest,
    Table,
    options,
)
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.library.architectures import is_normalised, trains_batch_norm
from ddpdoctor.reader.library.kinds import BATCH_NORMS, LAYER_LISTS, is_module, layers_of
from ddpdoctor.reader.library.modes import FROZEN, MAX_DEPTH, MODE, ONE, PARTLY, is_frozen, may_be_evaluated
from ddpdoctor.reader.objects import Class, Function, Made, Object
from ddpdoctor.reader.trees import last_name, nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import holds_by_default

CONVERTED = "converted"
"""The hidden attribute of a module whose BatchNorm layers were converted, on any path: an option to do it counts."""
LAYERS_HELD = LAYER_LISTS | {"torch.nn.ModuleDict"}


def has_fixed_norms(walk: Walk, wrapper: Abstract) -> bool:
    """Whether the BatchNorm layers of what a wrapper holds are in evaluation mode by now, though it is not."""
    inner = wrapper.inner if isinstance(wrapper, (Made, Object)) else None
    return inner is not None and all(
        isinstance(option, (Made, Object)) and _is_fixed(walk, option) for _, option in options(inner)
    )


def _is_fixed(walk: Walk, model: "Made | Object") -> bool:
    if is_frozen(walk, model):
        return True
    return PARTLY in model.attributes and not any(True for _ in _norms(walk, model, set(), 0))


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
        for option in _usual(walk, value):
            yield from _norms(walk, option, seen, depth)
    elif isinstance(value, Items):
        for item in value.items:
            yield from _norms(walk, item, seen, depth + 1)
    elif isinstance(value, Table):
        for cell in value.cells.values():
            yield from _norms(walk, read(cell, walk.path), seen, depth + 1)
    elif isinstance(value, Attribute) and isinstance(value.receiver, Made):
        model = value.receiver
        kept = CONVERTED not in model.attributes and not is_frozen(walk, model)
        if kept and trains_batch_norm(model) and re.fullmatch(NORMALISED_PARTS, value.name):
            yield Norm("", model.path, model.ref.place)
    elif isinstance(value, Opaque):
        for taken_from in _taken_from(value):
            yield from _norms(walk, taken_from, seen, depth + 1)
    elif isinstance(value, (Made, Object)):
        frozen = depth > 0 and may_be_evaluated(walk, value)
        if not frozen and CONVERTED not in value.attributes and not is_frozen(walk, value):
            yield from _norms_of_module(walk, value, seen, depth)


NORMALISED_PARTS = r"bn\d+|layers?\d*|features|blocks|stages?\d*|encoder|trunk|body|backbone"
"""How torchvision and timm name the parts of an architecture that have its BatchNorm layers."""


def _taken_from(part: Opaque) -> "Iterator[Made | Object]":
    """Yield the models of which something is a part, taken from them in a loop: ``for layer in model.children()``."""
    for tag in part.tags:
        if isinstance(tag, tuple) and tag[0] == "parameter" and tag[3] == ONE:
            yield tag[2]


def _usual(walk: Walk, value: Choice) -> list[Abstract]:
    """Return what a part of a model can be when no option is given: what one has to be given for is asked for.

    Where all of them have to be, or only those that are not kept apart do not, one is as good as the other. A choice
    of SyncBatchNorm is an option to have it.
    """
    possible = [(when, option) for when, option in options(value) if walk.assuming_also(when) is not None]
    if any(isinstance(option, Made) and option.path == "torch.nn.SyncBatchNorm" for _, option in possible):
        return []
    usual = [option for when, option in possible if holds_by_default(as_formula(when - walk.path)) is not False]
    return usual if any(not isinstance(option, Rest) for option in usual) else [option for _, option in possible]


def _norms_of_module(walk: Walk, value: "Made | Object", seen: set[int], depth: int) -> Iterator[Norm]:
    if isinstance(value, Made):
        if value.path in BATCH_NORMS:
            yield Norm("", value.path, value.ref.place)
            return
        if trains_batch_norm(value):
            yield Norm("", value.path, value.ref.place)
            return
        parts = [*value.args, *value.kwargs.values()] if is_module(value) else []
        if value.inner is not None:
            parts.append(value.inner)
    else:
        if not is_module(value):
            return
        if _trains_statistics(walk, value.cls):
            yield Norm("", value.cls.name, value.ref.place)
            return
        parts = [value.inner] if isinstance(value.inner, Made) and value.inner.path in LAYERS_HELD else []
    if isinstance(value, Made) and value.path in LAYER_LISTS:
        parts += layers_of(value).items
    fixed = _evaluated_in_forward(walk, value.cls) if isinstance(value, Object) else frozenset()
    held = [
        read(cell, walk.path)
        for name, cell in value.attributes.items()
        if name not in (CONVERTED, FROZEN, MODE, PARTLY) and name not in fixed
    ]
    for part in (*parts, *held):
        yield from _norms(walk, part, seen, depth + 1)


def _evaluated_in_forward(walk: Walk, cls: Class) -> frozenset[str]:
    """Return the parts that a module's own forward puts into evaluation mode: ``self.backbone.eval()``."""
    forward = class_attribute(walk, cls, "forward")
    nodes = nodes_of(forward.node) if isinstance(forward, Function) else ()
    methods = (part.func for part in nodes if isinstance(part, ast.Call))
    owners = (method.value for method in methods if isinstance(method, ast.Attribute) and method.attr == "eval")
    return frozenset(owner.attr for owner in owners if isinstance(owner, ast.Attribute))


def _trains_statistics(walk: Walk, cls: Class) -> bool:
    """Whether a class of the project is a BatchNorm, or an architecture that has some, of which each rank has its own.

    The package sync_batchnorm, of which projects have copies, computes as torch does unless its DataParallel has
    called ``__data_parallel_replicate__`` on the replicas. Any other own ``forward`` may ask the other ranks.
    """
    bases = cls.external_bases()
    if any(is_normalised(path) for path in bases):
        return True
    if not any(path in BATCH_NORMS or path == BASE for path in bases):
        return False
    if class_attribute(walk, cls, "__data_parallel_replicate__") is not None:
        return True
    forward = class_attribute(walk, cls, "forward")
    return not isinstance(forward, Function) or not _may_ask_others(forward)


BASE = "torch.nn._BatchNorm"
"""What torch's BatchNorm layers derive from."""


def _may_ask_others(forward: Function) -> bool:
    """Whether a method has a call that may be a collective: by its name, or of an autograd function of one's own."""
    names = map(last_name, nodes_of(forward.node))
    return any(
        name == "apply" or "allreduce" in (plain := name.lower().replace("_", "")) or "allgather" in plain
        for name in names
    )


def mark_converted(walk: Walk, value: Abstract) -> None:
    """Note that a model's BatchNorm layers are SyncBatchNorm from here on, on this path."""
    for _, option in options(value):
        if isinstance(option, (Made, Object)):
            option.attributes[CONVERTED] = [(walk.path, TRUE)]
            if isinstance(option, Made) and option.inner is not None:
                mark_converted(walk, option.inner)

"""What is known of calls that leave the project: a model for each function, method, attribute and context manager.

A model returns the call's abstract value, or ``None`` where it has nothing to say. Each subject has a file with the
tables ``FUNCTIONS`` (by dotted path), ``PREFIXES`` (by the start of one), ``METHODS`` (by name, whatever the receiver
is), ``ATTRIBUTES`` (by the receiver's path), ``VALUES`` (what a name outside the project stands for, by its path),
``CALLED`` (calling an object, by its path) and ``CONTEXTS`` (entering an object, by its path).
"""

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.reader import environment
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library import (
    archives,
    averaging,
    buffers,
    builtin,
    changes,
    checkpointing,
    checkpoints,
    collectives,
    commands,
    configuration,
    configurations,
    containers,
    copies,
    data,
    datasets,
    destinations,
    devices,
    downloads,
    drawing,
    engines,
    entries,
    executed,
    exits,
    files,
    frameworks,
    groups,
    ignite,
    import_path,
    importing,
    introspection,
    jobs,
    joint,
    kinds,
    layouts,
    meters,
    modules,
    moments,
    moves,
    mpi,
    named_tuples,
    parts,
    pretrained,
    processes,
    registries,
    scaling,
    set_up,
    subcommands,
    sweeps,
    tensors,
    text_methods,
    trackers,
    training,
    wrapping,
    writing,
)
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk

Model = Callable[[Walk, Call], "Abstract | None"]
AttributeModel = Callable[[Walk, Any, str, ast.AST], "Abstract | None"]
ContextModel = Callable[[Walk, Abstract, ast.AST], "tuple[str, Abstract] | None"]

SUBJECTS: tuple[Any, ...] = (
    builtin,
    exits,
    importing,
    introspection,
    registries,
    containers,
    copies,
    text_methods,
    named_tuples,
    environment,
    configuration,
    subcommands,
    sweeps,
    configurations,
    import_path,
    groups,
    set_up,
    collectives,
    joint,
    mpi,
    meters,
    devices,
    moves,
    tensors,
    data,
    modules,
    parts,
    buffers,
    changes,
    checkpointing,
    moments,
    wrapping,
    averaging,
    scaling,
    training,
    files,
    writing,
    downloads,
    drawing,
    pretrained,
    archives,
    checkpoints,
    destinations,
    processes,
    jobs,
    frameworks,
    ignite,
    engines,
    trackers,
    commands,
    entries,
    executed,
)

_FUNCTIONS: dict[str, Model] = {}
_PREFIXES: dict[str, Model] = {}
_METHODS: dict[str, Model] = {}
_ATTRIBUTES: dict[str, AttributeModel] = {}
_VALUES: dict[str, Callable[[], Abstract]] = {}
_CALLED: dict[str, Model] = {}
_CONTEXTS: dict[str, ContextModel] = {}
_TABLES: dict[str, dict[str, Any]] = {
    "FUNCTIONS": _FUNCTIONS,
    "PREFIXES": _PREFIXES,
    "METHODS": _METHODS,
    "ATTRIBUTES": _ATTRIBUTES,
    "VALUES": _VALUES,
    "CALLED": _CALLED,
    "CONTEXTS": _CONTEXTS,
}


def merge(whole: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a subject's table to the whole one; raise ValueError where two subjects claim one name."""
    twice = whole.keys() & part.keys()
    if twice:
        raise ValueError(f"two models of {', '.join(sorted(twice))}")
    whole.update(part)


for _subject in SUBJECTS:
    for _name, _whole in _TABLES.items():
        merge(_whole, getattr(_subject, _name, {}))

FUNCTION_NAMES = frozenset(_FUNCTIONS)
_PREFIXES_OF_ALL = tuple(_PREFIXES)
METHOD_NAMES = frozenset(_METHODS)


def function_model(path: str) -> Model | None:
    """Return the model of a function or class outside the project."""
    model = _FUNCTIONS.get(path)
    if model is not None:
        return model
    if not path.startswith(_PREFIXES_OF_ALL):
        return None
    return next(model for prefix, model in _PREFIXES.items() if path.startswith(prefix))


def method_model(path: str, name: str) -> Model | None:
    """Return the model of a method: one for the receiver's type where there is one, else one by the name alone."""
    return _METHODS.get(f"{path}.{name}") or _METHODS.get(name)


def attribute_model(path: str) -> AttributeModel | None:
    """Return the model of an object's attributes."""
    return _ATTRIBUTES.get(path)


def given_value(path: str) -> Abstract | None:
    """Return the value of a name outside the project that is more to the reader than a name."""
    made = _VALUES.get(path)
    return None if made is None else made()


def called_model(path: str) -> Model | None:
    """Return the model of calling an object that a call outside the project made."""
    return _CALLED.get(path)


def context_model(path: str) -> ContextModel | None:
    """Return the model of entering an object with ``with``."""
    found = _CONTEXTS.get(path)
    return found or _CONTEXTS.get(path.rpartition(".")[2])


def attribute_written(walk: Walk, value: Abstract, name: str, new: Abstract, node: ast.AST) -> None:
    """Note what writing an attribute means beyond the attribute."""
    if name == "epoch" and isinstance(value, Made) and value.path in kinds.RANK_AWARE:
        data.epoch_written(walk, value, new, node)
    averaging.flag_written(walk, value, name, node)
    if isinstance(value, Object):
        datasets.changed(walk, value, name, node)
    if name == "grad":
        averaging.gradient_dropped(walk, value, new, node)
        layouts.gradient_written(walk, value, new, node)
    else:
        changes.attribute_written(walk, value, name, new, node)

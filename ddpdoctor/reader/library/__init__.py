"""What is known of calls that leave the project: a model for each function, method, attribute and context manager.

A model returns the call's abstract value, or ``None`` where it has nothing to say. Each subject has a file with the
tables ``FUNCTIONS`` (by dotted path), ``PREFIXES`` (by the start of one), ``METHODS`` (by name, whatever the receiver
is), ``ATTRIBUTES`` (by the receiver's path), ``CALLED`` (calling an object, by its path) and ``CONTEXTS`` (entering an
object, by its path).
"""

import ast
from collections.abc import Callable
from typing import Any

from ddpdoctor.reader import environment
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.library import (
    builtin,
    configuration,
    containers,
    data,
    devices,
    entries,
    files,
    frameworks,
    groups,
    introspection,
    layouts,
    modules,
    processes,
    training,
    wrapping,
)
from ddpdoctor.reader.walk import Call, Walk

Model = Callable[[Walk, Call], "Abstract | None"]
AttributeModel = Callable[[Walk, Any, str, ast.AST], "Abstract | None"]
ContextModel = Callable[[Walk, Abstract, ast.AST], "tuple[str, Abstract] | None"]

SUBJECTS: tuple[Any, ...] = (
    builtin,
    introspection,
    containers,
    environment,
    configuration,
    groups,
    devices,
    data,
    modules,
    wrapping,
    training,
    files,
    processes,
    frameworks,
    entries,
)

_FUNCTIONS: dict[str, Model] = {}
_PREFIXES: list[tuple[str, Model]] = []
_METHODS: dict[str, Model] = {}
_ATTRIBUTES: dict[str, AttributeModel] = {}
_CALLED: dict[str, Model] = {}
_CONTEXTS: dict[str, ContextModel] = {}
for _subject in SUBJECTS:
    _FUNCTIONS.update(getattr(_subject, "FUNCTIONS", {}))
    _PREFIXES.extend(getattr(_subject, "PREFIXES", {}).items())
    _METHODS.update(getattr(_subject, "METHODS", {}))
    _ATTRIBUTES.update(getattr(_subject, "ATTRIBUTES", {}))
    _CALLED.update(getattr(_subject, "CALLED", {}))
    _CONTEXTS.update(getattr(_subject, "CONTEXTS", {}))


def function_model(path: str) -> Model | None:
    """Return the model of a function or class outside the project."""
    model = _FUNCTIONS.get(path)
    if model is not None:
        return model
    return next((model for prefix, model in _PREFIXES if path.startswith(prefix)), None)


def class_model(path: str) -> Model | None:
    """Return the model of a class outside the project that one of the project derives from."""
    return function_model(path)


def method_model(path: str, name: str) -> Model | None:
    """Return the model of a method: one for the receiver's type where there is one, else one by the name alone."""
    return _METHODS.get(f"{path}.{name}") or _METHODS.get(name)


def attribute_model(path: str) -> AttributeModel | None:
    """Return the model of an object's attributes."""
    return _ATTRIBUTES.get(path)


def called_model(path: str) -> Model | None:
    """Return the model of calling an object that a call outside the project made."""
    return _CALLED.get(path)


def context_model(path: str) -> ContextModel | None:
    """Return the model of entering an object with ``with``."""
    found = _CONTEXTS.get(path)
    return found or _CONTEXTS.get(path.rpartition(".")[2])


def attribute_written(walk: Walk, value: Abstract, name: str, new: Abstract, node: ast.AST) -> None:
    """Note what writing an attribute means beyond the attribute."""
    if name == "grad":
        layouts.gradient_written(walk, value, new, node)

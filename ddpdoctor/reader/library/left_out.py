"""Layers with parameters that a model's forward could compute with, and does not with what it is given."""

import ast
from collections.abc import Collection, Iterator

from ddpdoctor.reader.library.parts import has_parameters, held, parts_of
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref


def left_out(walk: Walk, wrapper: "Object | Made", uses: Collection[Ref]) -> Iterator[Ref]:
    """Yield the layers that modules of a wrapped model call by name, of those that were run, and that were not run.

    ``if return_features: return x`` before ``self.head(x)``, an arm for another way to cut the image into patches: the
    reader went through the forward with its arguments, and the settings that the model was made with.
    """
    made = wrapper.inner if isinstance(wrapper, Object) else wrapper
    model = made.inner if isinstance(made, Made) else None
    if model is None:
        return
    parts = tuple(parts_of(model))
    for part in parts:
        if not isinstance(part, Object) or part.ref not in uses:
            continue
        layers = dict(held(part))
        for name in sorted(_called(part)):
            layer = layers.get(name)
            if isinstance(layer, Made) and has_parameters(layer) and layer.ref not in uses:
                yield layer.ref


def _called(part: Object) -> set[str]:
    """Return the names of the attributes that a module calls, outside of its constructor."""
    body = [one for cls in part.cls.resolution() for one in cls.node.body]
    methods = [one for one in body if isinstance(one, ast.FunctionDef) and one.name != "__init__"]
    called = [one.func for one in nodes_of(*methods) if isinstance(one, ast.Call)]
    own = [one for one in called if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    return {one.attr for one in own if one.value.id == "self"}  # type: ignore[attr-defined]

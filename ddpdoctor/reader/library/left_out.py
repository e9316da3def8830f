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


def _called(part: Object) -> Iterator[str]:
    """Yield the names of the attributes that a module calls, outside of its constructor."""
    for cls in part.cls.resolution():
        for method in cls.node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                for node in nodes_of(method):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                        holder = node.func.value
                        if isinstance(holder, ast.Name) and holder.id == "self":
                            yield node.func.attr

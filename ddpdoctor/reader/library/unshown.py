"""What of a model's graph the source does not show: parts that are not known, outputs that nobody takes."""

import ast
import re

from ddpdoctor.reader.abstract import Abstract, Attribute, Opaque, known
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.library.parts import Parts, held
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.trees import last_name, nodes_of

_POOLED = re.compile(
    r"transformers\..*\b(Auto|Bert|Roberta|XLMRoberta|Camembert|Albert|Longformer|BigBird|Ernie|MPNet|LayoutLM|ViT|DeiT|BeiT)"
    r"Model(\.from_pretrained|\.from_config)?"
)
"""Encoders of transformers whose last layer, the pooler, computes an output of its own (``BertModel.forward``)."""


def may_leave_parts_out(parts: Parts) -> bool:
    """Whether parameters of a model may take part in no loss although each step runs the same code.

    A part that is not known may have layers that its forward does without, and where one of several outputs of a part
    is dropped, what computes it alone gets no gradient. Layers of a library are no such parts: all parameters of an
    LSTM are in its outputs as in its state.
    """
    return any(isinstance(part, Object) and _leaves_out(part) for part in parts)


def _leaves_out(part: Object) -> bool:
    values = list(held(part))
    unknown = {name for name, value in values if isinstance(value, (Opaque, Attribute))}
    if not any(_takes_a_pooled_output(cls.node) for cls in part.cls.resolution()):
        if any(_POOLED.fullmatch(base) for base in part.cls.external_bases()):
            return True
        unknown |= {name for name, value in values if _has_a_pooler(value)}
    own = {name for name, value in values if isinstance(value, Object) and is_module(value)}
    if not unknown and not own:
        return False
    for cls in part.cls.resolution():
        for method in cls.node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                nodes = nodes_of(method)
                if any(_part_called(node) in unknown for node in nodes):
                    return True
                if own and any(_drops(node, own, nodes) for node in nodes):
                    return True
    return False


def _has_a_pooler(value: Abstract) -> bool:
    """Whether a part is an encoder of which a user of the hidden states alone leaves the pooler out."""
    if not isinstance(value, Made) or not _POOLED.fullmatch(value.path):
        return False
    return known(value.kwargs.get("add_pooling_layer")) is not False


def _takes_a_pooled_output(cls: ast.ClassDef) -> bool:
    """Whether a class takes the second output of something, by its name, its number, or along with the first."""
    for node in nodes_of(cls):
        if isinstance(node, ast.Attribute) and node.attr in ("pooler_output", "pooler"):
            return True
        item = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
        if item == "pooler_output" or (item == 1 and isinstance(node, ast.Subscript) and not _is_shape(node.value)):
            return True
        if isinstance(node, ast.Assign) and _part_called(node.value) and isinstance(node.targets[0], ast.Tuple):
            return True
    return False


def _is_shape(node: ast.expr) -> bool:
    return last_name(node) == "shape" or (isinstance(node, ast.Call) and last_name(node.func) == "size")


def _part_called(node: ast.AST) -> str | None:
    """Return the name of the part that a call runs: ``self.encoder(x)``, ``self.encoder.forward(x)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    part: ast.expr = node.func
    if node.func.attr == "forward":
        part = node.func.value
    itself = isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
    return part.attr if itself and isinstance(part, ast.Attribute) else None


def _drops(node: ast.AST, own: set[str], nodes: "tuple[ast.AST, ...] | list[ast.AST]") -> bool:
    """Whether a statement takes one output of a part and leaves another: ``masks, _ = self.decoder(x)``."""
    if not isinstance(node, ast.Assign) or _part_called(node.value) not in own:
        return False
    for target in node.targets:
        if isinstance(target, ast.Tuple):
            names = {one.id for one in target.elts if isinstance(one, ast.Name)}
            read = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
            if names - read:
                return True
    return False

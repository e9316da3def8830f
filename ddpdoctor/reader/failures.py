"""Under what the body of a ``try`` fails: where there is no process group, or a launcher's variable is not set."""

import ast

from ddpdoctor.atom import Formula
from ddpdoctor.condition import any_of, negation
from ddpdoctor.reader.abstract import External
from ddpdoctor.reader.comparisons import in_environment
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.leaving import ALL_EXCEPTIONS
from ddpdoctor.reader.trees import last_name, nodes_of, types_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import LAUNCH_VARIABLES, Expression


def failure(walk: Walk, node: "ast.Try", handler: ast.ExceptHandler, frame: Frame) -> Formula:
    """Return under what a handler runs."""
    found = _without_a_group(walk, node, frame) or _without_a_variable(walk, node, handler, frame)
    return found or walk.literal(f"an exception reaches {walk.line(handler)}")


def _without_a_group(walk: Walk, node: "ast.Try", frame: Frame) -> Formula | None:
    """Return that there is no group for ``try: rank = dist.get_rank()``."""
    asked = node.body[0].value if len(node.body) == 1 and isinstance(node.body[0], (ast.Assign, ast.Return)) else None
    asked = asked.left if isinstance(asked, ast.Compare) else asked
    if isinstance(asked, ast.Call) and last_name(asked.func) in ("get_rank", "get_world_size"):
        function = walk.evaluate(asked.func, frame)
        if isinstance(function, External) and function.path.startswith("torch.distributed."):
            there = walk.literal("torch.distributed is initialised", "world", Expression("initialized"), asked)
            return negation(there)
    return None


def _without_a_variable(walk: Walk, node: "ast.Try", handler: ast.ExceptHandler, frame: Frame) -> Formula | None:
    """Return that a launcher's variable is not set, for ``try: rank = int(os.environ["RANK"])`` and no more."""
    if not any(one is None or last_name(one) in MISSING for one in types_of(handler)):
        return None
    if not all(isinstance(one, (ast.Assign, ast.AnnAssign, ast.Return)) for one in node.body):
        return None
    nodes = nodes_of(*node.body)
    if any(isinstance(one, ast.Call) and last_name(one.func) not in CONVERSIONS for one in nodes):
        return None
    read = [one for one in nodes if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load)]
    names = [one.slice.value for one in read if isinstance(one.slice, ast.Constant)]
    if not read or len(names) < len(read) or not any(name in LAUNCH_VARIABLES for name in names):
        return None
    for one in read:
        holder = walk.evaluate(one.value, frame)
        if not isinstance(holder, External) or holder.path != "os.environ":
            return None
    return any_of(negation(in_environment(walk, str(name), handler)) for name in names)


MISSING = (*ALL_EXCEPTIONS, "KeyError", "LookupError")
"""What is caught where a variable is not set."""
CONVERSIONS = ("int", "str", "float")

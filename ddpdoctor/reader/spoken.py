"""What stands in a function's body: names that a check may ask about, and those by which it comes to other code."""

import ast
from functools import lru_cache

from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.library import FUNCTION_NAMES, METHOD_NAMES, tensors
from ddpdoctor.reader.rank_words import RANK_WORDS
from ddpdoctor.reader.trees import last_name, nodes_of

QUIET = frozenset(
    [
        *(name.rpartition(".")[2] for name in (*tensors.FUNCTIONS, *tensors.METHODS)),
        *("Dict", "OrderedDict", "add", "all", "any", "append", "apply", "bfloat16", "bool", "cast"),
        *("clamp_", "clip_", "compose", "copy", "cpu", "deepcopy", "defaultdict", "dict", "double"),
        *("endswith", "enumerate", "extend", "float", "format", "get", "half", "hasattr", "identity"),
        *("int", "isinstance", "item", "items", "iter", "join", "keys", "kaiming_normal_", "len", "list"),
        *("lower", "map", "max", "merge", "min", "normal_", "partial", "pop", "range", "replace"),
        *("reversed", "set", "setdefault", "sorted", "split", "startswith", "str", "strip", "sum", "to"),
        *("tolist", "tuple", "type", "uniform_", "update", "upper", "values", "zip", "forward", "index"),
        *("device", "insert"),
    ]
)
"""Names of functions and methods of which the library knows no more than what their value is, as long as what they are
called with are tensors, texts and containers."""


LOUD_NAMES = frozenset(name.rpartition(".")[2] for name in (*FUNCTION_NAMES, *METHOD_NAMES)) - QUIET


TOLD = RANK_WORDS | {"distributed", "dist", "environ", "hvd", "deepspeed", "accelerator", "exit", "globals"}
"""What code speaks of, called or not, when it has to do with several processes."""


SPOKEN_OF = frozenset({"requires_grad", "grad", "data", "training", "epoch", "weight", "require_backward_grad_sync"})
"""Attributes of anything of which a check may ask what they are given."""


class Words(NamedTuple):
    """What stands in a body: whether some of it is loud, and by which names it comes to other code.

    ``own`` are the attributes that are taken of the first parameter, ``taken`` those of anything else; ``called`` are
    the names and own attributes that are called by a name of the library's, ``imports`` the modules that it imports
    from itself, empty for one of its package.
    """

    loud: bool
    names: frozenset[str]
    own: frozenset[str]
    taken: frozenset[str]
    called: frozenset[str]
    imports: frozenset[str]


@lru_cache(maxsize=4_000)
def words_of(body: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> Words:
    """Return what stands in a function's body."""
    spec = body.args
    first = next((arg.arg for arg in (*spec.posonlyargs, *spec.args)), "")
    names: set[str] = set()
    own: set[str] = set()
    taken: set[str] = set()
    called: set[str] = set()
    imports: set[str] = set()
    is_constructor = getattr(body, "name", "") == "__init__"
    loud = False
    for node in nodes_of(*([body.body] if isinstance(body, ast.Lambda) else body.body)):
        if isinstance(node, ast.Name):
            names.add(node.id)
            loud = node.id in TOLD
        elif isinstance(node, ast.Attribute):
            loud = node.attr in TOLD or node.attr == "module" or (_is_stored(node) and node.attr in SPOKEN_OF)
            (own if _is_of(node, first) else taken).add(node.attr)
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            if name in LOUD_NAMES and (isinstance(node.func, ast.Name) or _is_of(node.func, first)):
                called.add(name)  # the project's own may be meant
            else:
                loud = name in LOUD_NAMES
        elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            loud = not is_constructor and _keeps(node, first)
        elif isinstance(node, ast.ImportFrom):
            imports.add("" if node.level else node.module or "")
        elif isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        else:
            loud = isinstance(node, (ast.Global, ast.Nonlocal))
        if loud:
            break
    return Words(loud, *map(frozenset, (names, own, taken, called, imports)))


def _is_stored(node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _keeps(node: "ast.Assign | ast.AugAssign | ast.AnnAssign", first: str) -> bool:
    """Whether an assignment leaves something in the object of a method, besides a constant such as a flag."""
    if isinstance(node.value, ast.Constant):
        return False
    pending = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    for target in pending:  # which grows meanwhile
        if isinstance(target, (ast.Tuple, ast.List)):
            pending += target.elts
        holder: ast.expr = target
        while isinstance(holder, (ast.Attribute, ast.Subscript)):
            holder = holder.value
        if holder is not target and isinstance(holder, ast.Name) and holder.id == first:
            return True
    return False


def _is_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name

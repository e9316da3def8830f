"""The words by which a program speaks of ranks, and where it does."""

import ast
from collections.abc import Iterator

from ddpdoctor.reader.trees import last_name, nodes_of

RANK_WORDS = frozenset(
    [
        "rank",
        "local_rank",
        "global_rank",
        "world_rank",
        "get_rank",
        "get_world_size",
        "num_replicas",
        "world_size",
        "dp_rank",
        "process_index",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "num_processes",
        "shard",
        "num_shards",
    ]
)
"""Names by which code that divides something between ranks speaks of them."""


def speaks_of_ranks(node: ast.AST) -> bool:
    """Whether a piece of a program names a rank."""
    for inner in nodes_of(node):
        if isinstance(inner, ast.Name) and inner.id in RANK_WORDS:
            return True
        if isinstance(inner, ast.Attribute) and inner.attr in RANK_WORDS:
            return True
        if isinstance(inner, ast.arg) and inner.arg in RANK_WORDS:
            return True
        if isinstance(inner, ast.Constant) and inner.value in RANK_WORDS:
            return True
    return False


def kept_as_given(node: ast.AST) -> frozenset[str]:
    """Return the attributes that ``self.rank = rank`` gives values, where some value is a rank."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return frozenset()
    target = node.targets[0]
    pairs = [(target, node.value)]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(target.elts, node.value.elts, strict=False))
    plain = all(isinstance(to, ast.Attribute) and isinstance(value, ast.Name) for to, value in pairs)
    named = {to.attr for to, value in pairs if isinstance(to, ast.Attribute) and speaks_of_ranks(value)}
    return frozenset(named) if plain else frozenset()


def ranks_told(node: ast.AST) -> Iterator[str]:
    """Yield the variable that ``init_process_group(backend, init_method, timeout, world_size, rank)`` gets as rank."""
    if isinstance(node, ast.Call) and last_name(node.func) == "init_process_group":
        given = [*node.args[4:5], *(keyword.value for keyword in node.keywords if keyword.arg == "rank")]
        yield from (one.id for one in given if isinstance(one, ast.Name))


def tells_the_rank(node: ast.AST) -> bool:
    """Whether a node asks for the rank: of torch, or of the environment."""
    if isinstance(node, ast.Constant):
        return node.value == "RANK"
    return (isinstance(node, ast.Attribute) and node.attr == "get_rank") or (
        isinstance(node, ast.Name) and node.id == "get_rank"
    )

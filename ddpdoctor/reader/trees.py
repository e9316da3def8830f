"""The nodes of a program's trees, found several times sooner than ``ast.walk`` finds them."""

import ast
from collections.abc import Iterable

_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})
_INNERMOST = frozenset({ast.Name, ast.Constant, type(None), str})
"""What stands where nodes do and has no others in it that anybody looks for: every second one."""
_NO_NODES = frozenset({int, str, type(None), ast.Load, ast.Store, ast.Del})
"""What a node has besides nodes: its place, names, and whether it is read or written."""


def nodes_of(*roots: ast.AST) -> list[ast.AST]:
    """Return the nodes of trees, the outer ones first, without those that say whether a name is read or written."""
    return _found_in(roots, _INNERMOST)


def last_name(node: ast.AST | None) -> str:
    """Return the name that a node is, or the last one of a dotted name: empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def root_name(node: ast.AST | None) -> str:
    """Return the name that a chain of attributes begins with: empty for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def types_of(handler: ast.ExceptHandler) -> "list[ast.expr] | list[ast.expr | None]":
    """Return the types that a handler names; ``None`` is that of a bare one."""
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def own_nodes(body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes of a body, without those in functions and classes that are defined in it."""
    return _found_in(body, _INNERMOST | _DEFINITIONS)


def _found_in(roots: Iterable[ast.AST], left_whole: frozenset[type]) -> list[ast.AST]:
    found = list(roots)
    for node in found:  # which grows meanwhile
        if type(node) not in left_whole:
            for value in node.__dict__.values():
                kind = type(value)
                if kind is list:
                    found += value
                elif kind not in _NO_NODES and isinstance(value, ast.AST):
                    found.append(value)
    return [node for node in found if isinstance(node, ast.AST)]

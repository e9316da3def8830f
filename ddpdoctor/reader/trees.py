"""The nodes of a program's trees, found several times sooner than ``ast.walk`` finds them."""

import ast
from collections.abc import Iterable

_INNERMOST = frozenset({ast.Name, ast.Constant})
"""Nodes in which there is no other that anybody looks for: every second one."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def nodes_of(*roots: ast.AST) -> list[ast.AST]:
    """Return the nodes of trees, the outer ones first, without those that say whether a name is read or written."""
    found = list(roots)
    for node in found:  # which grows meanwhile
        if type(node) not in _INNERMOST:
            _add_children(found, node)
    return found


def own_nodes(body: Iterable[ast.AST]) -> list[ast.AST]:
    """Return the nodes of a body, without those in functions and classes that are defined in it."""
    found = list(body)
    for node in found:
        if type(node) not in _INNERMOST and not isinstance(node, _DEFINITIONS):
            _add_children(found, node)
    return found


def _add_children(found: list[ast.AST], node: ast.AST) -> None:
    for value in vars(node).values():
        if type(value) is list:
            found.extend([one for one in value if isinstance(one, ast.AST)])
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            found.append(value)

"""Text that a program runs as code: ``exec`` and ``eval`` of a text that is known, an option's being its default."""

import ast

from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, External, Known, Opaque, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk

MAX_LENGTH = 1000
"""Longer texts are generated programs, in which a model is seldom made."""
_THINGS = (Attribute, Bound, Class, External, Function, Made, Object, Partial)
"""What is as good as known when the text that names it is an option's default; a number or a flag is not."""


def _evaluated(walk: Walk, call: Call) -> Abstract | None:
    """``eval(text)``, in the names of the caller."""
    if len(call.args) != 1 or call.kwargs or call.open:
        return None
    before, found = walk.path, []
    for when, given in options(call.args[0]):
        here = walk.assuming_also(when)
        if here is None:
            continue
        walk.path = here
        tree = _parsed(given, "eval", call)
        found.append((when, _value_of(walk, tree, given, call)))
        walk.path = before
    return choice(found) if found else None


def _value_of(walk: Walk, tree: ast.AST | None, given: Abstract, call: Call) -> Abstract:
    unknown = Opaque(f"eval({text(given)})", given.tags, origin=getattr(given, "origin", "other"))
    if not isinstance(tree, ast.Expression):
        return unknown
    value = walk.evaluate(tree.body, call.frame)
    return value if isinstance(given, Known) or isinstance(value, _THINGS) else unknown


def _executed(walk: Walk, call: Call) -> Abstract | None:
    """``exec(text)``: what it binds in a function is gone afterwards, what it sets on objects stays."""
    if len(call.args) != 1 or call.kwargs or call.open:
        return None
    tree = _parsed(call.args[0], "exec", call)
    if isinstance(tree, ast.Module) and all(_changes_objects_only(statement) for statement in tree.body):
        walk.run(tree.body, call.frame)
        return NONE
    if tree is None and call.frame.function is None:
        _become_options(call)
    return None


def _become_options(call: Call) -> None:
    """Take the settings at the top of a script for options: a text that is not known may give them other values.

    ``exec(open("configurator.py").read())``, which reads the command line.
    """
    for name, cell in call.frame.module.cells.items():
        for i, (when, value) in enumerate(cell):
            if isinstance(name, str) and isinstance(value, Known) and isinstance(value.value, (bool, int, float, str)):
                cell[i] = (when, Opaque(name, origin="configuration", default=value))


def _changes_objects_only(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in statement.targets)
    return isinstance(statement, ast.Expr)


def _parsed(given: Abstract, mode: str, call: Call) -> ast.AST | None:
    """Return the tree of a text, each node of it where the call stands."""
    source = known(by_default(given))
    if not isinstance(source, str) or len(source) > MAX_LENGTH:
        return None
    try:
        tree = ast.parse(source.strip(), mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = nodes_of(tree)
    if any(isinstance(node, ast.Name) and node.id in ("eval", "exec") for node in nodes):
        return None  # the text may run itself
    for node in nodes:
        ast.copy_location(node, call.node)
    return tree


FUNCTIONS = {"builtins.eval": _evaluated, "builtins.exec": _executed}

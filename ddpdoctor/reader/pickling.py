"""What pickle cannot take to another process: functions and classes that no module has by their name."""

import ast

from ddpdoctor.reader.abstract import Abstract, Choice, Items
from ddpdoctor.reader.objects import Bound, Class, Function, Object, Partial
from ddpdoctor.reader.trees import last_name, nodes_of

MAX_DEPTH = 4


def unpicklable(value: Abstract | None, depth: int = 0) -> str:
    """Return what in a value cannot be pickled, in words; an empty text where nothing is known to be."""
    if depth > MAX_DEPTH:
        return ""
    if isinstance(value, Function):
        return _of_function(value)
    if isinstance(value, Bound):
        return _of_function(value.function) or unpicklable(value.receiver, depth + 1)
    if isinstance(value, Partial):
        given = (value.function, *value.args, *value.kwargs.values())
        return next((found for one in given if (found := unpicklable(one, depth + 1))), "")
    if isinstance(value, Object):
        return _of_class(value.cls)
    if isinstance(value, Class):
        return _of_class(value)
    if isinstance(value, Items):
        return next((found for one in value.items if (found := unpicklable(one, depth + 1))), "")
    if isinstance(value, Choice):
        each = [unpicklable(option, depth + 1) for _, option in value.options]
        return each[0] if all(each) else ""
    return ""


def _of_function(function: Function) -> str:
    """Pickle stores a function by its name: a lambda has none, and a local one none that can be imported.

    A decorator may give it another name (``functools.wraps``); so does a ``global`` statement.
    """
    if isinstance(function.node, ast.Lambda):
        return "a lambda"
    outer = function.frame.function
    if outer is None or function.node.decorator_list or function.name in function.frame.globals:
        return ""
    if any(_is_wraps(decorator) for decorator in nodes_of(function.node) if isinstance(decorator, ast.Call)):
        return ""
    return f"{function.name}(), which is local to {outer.name}(),"


def _is_wraps(call: ast.Call) -> bool:
    return last_name(call.func) in ("wraps", "update_wrapper")


def _of_class(cls: Class) -> str:
    outer = cls.frame.function
    if outer is None or cls.name in cls.frame.globals or cls.node.decorator_list:
        return ""
    return f"{cls.name}, which is local to {outer.name}(),"

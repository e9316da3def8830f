"""Function and class definitions, and what their decorators make of them."""

import ast

from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.names import store
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.walk import Walk

_KINDS = {
    "property": "property",
    "cached_property": "property",
    "staticmethod": "staticmethod",
    "classmethod": "classmethod",
    "contextmanager": "context manager",
    "asynccontextmanager": "context manager",
}
_BLOCKS = {"no_grad": "no_grad", "inference_mode": "no_grad"}


def run_function_definition(walk: Walk, node: "ast.FunctionDef | ast.AsyncFunctionDef", frame: Frame) -> None:
    """``def``: binds the function, decorated."""
    function = _function(walk, node, node.name, frame)
    value: Abstract = function
    for decorator in reversed(node.decorator_list):
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter"):
            store(walk, f"{node.name}.{decorator.attr}", function, frame)
            return
        value = _decorated(walk, decorator, value, function, frame)
    store(walk, node.name, value, frame)


def lambda_function(walk: Walk, node: ast.Lambda, frame: Frame) -> Function:
    """Return the function of a lambda expression."""
    return _function(walk, node, "<lambda>", frame)


def _function(
    walk: Walk, node: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda", name: str, frame: Frame
) -> Function:
    function = Function(node, name, frame)
    walk.holders.append(frame)
    function.defaults = [walk.evaluate(default, frame) for default in node.args.defaults]
    function.keyword_defaults = [None if d is None else walk.evaluate(d, frame) for d in node.args.kw_defaults]
    return function


def _decorated(walk: Walk, node: ast.expr, value: Abstract, function: Function, frame: Frame) -> Abstract:
    """Return what a decorator makes of a function: one outside the project leaves it callable as it was."""
    decorator = walk.evaluate(node, frame)
    name = _last_name(decorator)
    if name is not None:
        function.kind = _KINDS.get(name, function.kind)
        if name in _BLOCKS:
            function.within = (*function.within, _BLOCKS[name])
        if isinstance(decorator, (External, Made, Attribute)):
            return walk.tables.decorate(walk, decorator, value, node, frame)
        return value
    result = walk.call(decorator, Call((value,), {}, node, frame))
    for candidate in (option for _, option in result.options) if isinstance(result, Choice) else (result,):
        if isinstance(candidate, (Function, Bound, Object, Class, Partial)):
            if isinstance(candidate, Function) and candidate is not function:
                candidate.kind = function.kind if candidate.kind == "function" else candidate.kind
            return candidate
    return value


def _last_name(decorator: Abstract) -> str | None:
    if isinstance(decorator, (External, Made)):
        return decorator.path.rpartition(".")[2]
    return decorator.name if isinstance(decorator, Attribute) else None


def run_class_definition(walk: Walk, node: ast.ClassDef, frame: Frame) -> None:
    """``class``: runs the body, binds the class, decorated."""
    bases: list[Abstract] = []
    for base in node.bases:
        value = walk.evaluate(base, frame)
        bases.append(value.options[0][1] if isinstance(value, Choice) else value)
    cls = Class(node, bases, frame)
    walk.holders += (frame, cls)
    body = Frame(frame.module, cls.attributes, parent=frame)
    body.is_class = True
    dead = walk.dead
    walk.run(node.body, body)
    walk.dead = dead
    for cell in cls.attributes.values():
        for _, value in cell:
            if isinstance(value, Function) and value.owner is None:
                value.owner = cls
    named = any(isinstance(base, External) and base.path.endswith("NamedTuple") for base in bases)
    if named or (_annotates(node) and any(path.endswith(PYDANTIC) for path in cls.external_bases())):
        cls.fields = _fields(node)
    value = cls
    for decorator in reversed(node.decorator_list):
        value = _decorated_class(walk, decorator, value, cls, frame)
    store(walk, node.name, value, frame)


PYDANTIC = ("BaseModel", "BaseSettings")
"""What classes derive from whose annotated names are filled in from arguments."""


def _annotates(node: ast.ClassDef) -> bool:
    return any(isinstance(statement, ast.AnnAssign) for statement in node.body)


def _decorated_class(walk: Walk, node: ast.expr, value: Abstract, cls: Class, frame: Frame) -> Abstract:
    decorator = walk.evaluate(node, frame)
    name = _last_name(decorator)
    if name == "dataclass" or name == "define":
        cls.fields = _fields(cls.node)
    if name is not None:
        return value
    result = walk.call(decorator, Call((value,), {}, node, frame))
    return result if isinstance(result, (Class, Function, Bound, Partial)) else value


def _fields(node: ast.ClassDef) -> tuple[tuple[str, ast.expr | None], ...]:
    """Return the annotated names of a class body with their defaults, in order: what its ``__init__`` takes."""
    return tuple(
        (statement.target.id, statement.value)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    )

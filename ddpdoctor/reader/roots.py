"""Programs without an entry: functions that nothing calls are interpreted with unknown arguments."""

import ast

from ddpdoctor.condition import ALWAYS
from ddpdoctor.events import Backward, Event, FrameworkOwns, GroupInit, LoaderBuilt, ModelWrapped, ProcessStarted
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.objects import Bound, Class, Function, Generator, Object
from ddpdoctor.reader.walk import Call, Walk

REACHED: tuple[type[Event], ...] = (GroupInit, ModelWrapped, ProcessStarted, LoaderBuilt, Backward, FrameworkOwns)
"""Events that show that a program's own entry reaches what is looked for."""


def run_uncalled(walk: Walk) -> bool:
    """Interpret what nothing calls in a program that reaches nothing by itself; return whether it had an entry."""
    if any(isinstance(event, REACHED) for event in walk.events):
        return True
    module = walk.project.main
    tree = module.source.tree if module.source else None
    if tree is None:
        return True
    mentioned = _mentioned(tree)
    before = len(walk.events)
    frame = Frame(module, module.cells)
    walk.frames.append(frame)
    for name, cell in list(module.cells.items()):
        value = cell[-1][1]
        if isinstance(value, (Function, Class)) and value.module is module and name not in mentioned:
            _run_root(walk, value, frame, mentioned)
    walk.frames.pop()
    return len(walk.events) == before


def _mentioned(tree: ast.Module) -> frozenset[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    names |= {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return frozenset(names)


def _run_root(walk: Walk, value: Abstract, frame: Frame, mentioned: frozenset[str]) -> None:
    """Call a function, or the methods of a new object that no other code calls."""
    walk.path, walk.dead, walk.loops, walk.within, walk.stack = ALWAYS, False, (), (), ()
    walk.file = walk.project.script
    if isinstance(value, Function):
        if value.node not in walk.called:
            _call_root(walk, value, (), frame)
        return
    assert isinstance(value, Class)
    made = walk.call(value, Call((), {}, value.node, frame))
    if not isinstance(made, Object):
        return
    for cls in value.resolution():
        for name in list(cls.attributes):
            method = class_attribute(walk, value, str(name))
            if isinstance(method, Function) and method.node not in walk.called and name not in mentioned:
                walk.path, walk.dead = ALWAYS, False
                _call_root(walk, Bound(method, made), (), frame)


def _call_root(walk: Walk, callee: Abstract, args: tuple[Abstract, ...], frame: Frame) -> None:
    function = callee.function if isinstance(callee, Bound) else callee
    assert isinstance(function, Function)
    walk.start_as_root()
    result = walk.call(callee, Call(args, {}, function.node, frame))
    if isinstance(result, Generator):
        walk.start_as_root()
        run_body(walk, function, result.call, lambda value: value)
    walk.dead = False

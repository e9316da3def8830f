"""``with`` statements: which block they open, and the context managers of the project, which run for real."""

import ast
from collections.abc import Callable

from ddpdoctor.atom import Condition
from ddpdoctor.condition import any_of, as_formula, together
from ddpdoctor.consequences import since
from ddpdoctor.events import Within
from ddpdoctor.reader.abstract import NONE, Abstract, Choice, Known, Opaque, Truth, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.library import context_model
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.objects import Bound, Function, Generator, Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import one_rank_meets

MAX_YIELDS = 3
"""At how many yields of one context manager the body is run."""


def run_with(walk: Walk, node: "ast.With | ast.AsyncWith", frame: Frame) -> None:
    """``with``: each context manager in order, then the body inside all of them."""
    _enter(walk, node, 0, frame)


def _enter(walk: Walk, node: "ast.With | ast.AsyncWith", position: int, frame: Frame) -> None:
    if position == len(node.items):
        walk.run(node.body, frame)
        return
    item = node.items[position]
    manager = walk.evaluate(item.context_expr, frame)

    def body(value: Abstract) -> None:
        if item.optional_vars is not None:
            assign(walk, item.optional_vars, value, frame)
        _enter(walk, node, position + 1, frame)

    enter_manager(walk, manager, item.context_expr, frame, body)


def enter_manager(
    walk: Walk, manager: Abstract, node: ast.expr, frame: Frame, body: Callable[[Abstract], None]
) -> None:
    """Run a body inside a context manager."""
    if isinstance(manager, Choice) and all(map(_changes_nothing, manager.options)):
        with walk.inside(Within("with", walk.place(node))):
            body(manager)
    elif isinstance(manager, Choice):
        _enter_either(walk, manager, node, frame, body)
    elif isinstance(manager, Generator):
        _enter_generator(walk, manager, node, body)
    elif isinstance(manager, Object):
        _enter_object(walk, manager, node, body)
    else:
        kind, value = _external_block(walk, manager, node)
        with walk.inside(Within(kind, walk.place(node))):
            body(value)


NO_CHANGE = frozenset(
    {
        "contextlib.nullcontext",
        "torch.autocast",
        "torch.amp.autocast",
        "torch.cuda.amp.autocast",
        "torch.cpu.amp.autocast",
    }
)
"""Managers in which a program does the same as without them, as far as anybody asks."""


def _changes_nothing(option: tuple[Condition, Abstract]) -> bool:
    return isinstance(option[1], Made) and option[1].path in NO_CHANGE


def _enter_either(walk: Walk, manager: Choice, node: ast.expr, frame: Frame, body: Callable[[Abstract], None]) -> None:
    """Enter each of several possible managers under its condition; what follows is divided where the body leaves."""
    before, ends = walk.path, list[Condition]()
    left = False
    for condition, option in options(manager):
        both = together(before, condition)
        if both is None or isinstance(option, (Known, Truth)):
            continue
        walk.path, walk.dead = both, False
        enter_manager(walk, option, node, frame, body)
        if not walk.dead:
            ends.append(walk.path)
            left = left or not walk.path <= both
    walk.path, walk.dead = before, not ends
    if left:
        walk.path = walk.assuming(any_of(as_formula(since(end, before)) for end in ends)) or before


def _external_block(walk: Walk, manager: Abstract, node: ast.expr) -> tuple[str, Abstract]:
    path = manager.path if isinstance(manager, Made) else text(manager)
    model = context_model(path)
    if model is not None:
        found = model(walk, manager, node)
        if found is not None:
            return found
    if isinstance(manager, Opaque):
        return "with", Opaque(f"entered {text(manager)}", manager.tags)
    return "with", manager


def _enter_generator(walk: Walk, manager: Generator, node: ast.expr, body: Callable[[Abstract], None]) -> None:
    """Run a generator with the body of the ``with`` at its yield: what follows the yield follows the body.

    It yields once in a run. Where it can at several places, each on another path, the body runs at each.
    """
    file, stack, frames, outer = walk.file, walk.stack, walk.frames, walk.within
    entered: list[Condition] = []
    ended: list[Condition] = []

    def deliver(value: Abstract) -> Abstract:
        if len(entered) == MAX_YIELDS or any(one_rank_meets(path, walk.path) for path in entered):
            return NONE
        entered.append(walk.path)
        saved = walk.file, walk.stack, walk.frames
        protecting = tuple(block for block in walk.within if block not in outer)
        before, path = walk.within, walk.path
        walk.file, walk.stack, walk.frames = file, stack, [*frames]
        walk.within = (*outer, *protecting)
        body(value)
        walk.file, walk.stack, walk.frames = saved
        ended.append(walk.path)
        walk.within, walk.path = before, path
        walk.dead = False  # a return in the body still runs what follows the yield
        return NONE

    run_body(walk, manager.function, manager.call, deliver)
    if len(ended) == 1:
        walk.path = together(ended[0], walk.path) or ended[0]
    if not entered:
        body(Opaque(f"entered {manager.function.name}()", manager.tags))


def _enter_object(walk: Walk, manager: Object, node: ast.expr, body: Callable[[Abstract], None]) -> None:
    enter = class_attribute(walk, manager.cls, "__enter__") or class_attribute(walk, manager.cls, "__aenter__")
    leave = class_attribute(walk, manager.cls, "__exit__") or class_attribute(walk, manager.cls, "__aexit__")
    value: Abstract = manager
    if isinstance(enter, Function):
        value = walk.call_with(Bound(enter, manager), node=node)
    place = walk.place(node)
    before = walk.path
    with walk.inside(Within("with", place)):
        body(value)
    dead = walk.dead
    if isinstance(leave, Function):
        walk.dead, path = False, walk.path
        walk.path = before
        begun = len(walk.events)
        with walk.inside(Within("finally", place)):
            walk.call_with(Bound(leave, manager), NONE, NONE, NONE, node=node)
            if len(walk.events) > begun and _asks_what_went_wrong(leave):
                _leave_out_what_an_exception_skips(walk, leave, manager, node, begun)
        walk.path = path
    walk.dead = dead


def _asks_what_went_wrong(leave: Function) -> bool:
    """Whether an ``__exit__`` looks at the exception that it is given."""
    taken = leave.node.args
    given = {arg.arg for arg in [*taken.args[1:], *([taken.vararg] if taken.vararg else [])]}
    return any(isinstance(part, ast.Name) and part.id in given for part in nodes_of(leave.node))


def _leave_out_what_an_exception_skips(
    walk: Walk, leave: Function, manager: Object, node: ast.expr, begun: int
) -> None:
    """Find what an ``__exit__`` does after a normal end only: no ``finally`` would stand around that."""
    normal, around = walk.events[begun:], walk.within[-1]
    failed = Known("an exception")
    with walk.aside(MAX_STEPS):
        walk.call_with(Bound(leave, manager), failed, failed, failed, node=node)
        reached = {type(event) for event in walk.events[begun + len(normal) :]}
        for position, event in enumerate(normal):
            if type(event) not in reached:
                normal[position] = event.with_(within=tuple(block for block in event.within if block != around))
    walk.events[begun:] = normal


MAX_STEPS = 4_000
"""How much of an ``__exit__`` is read a second time, as after an exception."""

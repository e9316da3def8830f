"""``try``: what its body, its handlers and its ``finally`` do, and which failures the program goes on after."""

import ast
from collections.abc import Iterator

from ddpdoctor.atom import Condition
from ddpdoctor.condition import assume, together
from ddpdoctor.events import Within
from ddpdoctor.reader.abstract import Opaque
from ddpdoctor.reader.failures import failure
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.leaving import ALL_EXCEPTIONS
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.trees import last_name, nodes_of, types_of
from ddpdoctor.reader.walk import Walk


def run_try(walk: Walk, node: "ast.Try", frame: Frame) -> None:
    """Run the body, the handlers under the condition that it failed, and ``finally`` on every way out."""
    before = walk.path
    place = walk.place(node)._replace(end_line=node.lineno, end_column=0)
    ends: list[Condition] = []
    protected = (Within("protected", place),) if node.finalbody else ()
    frame.catching.append((len(frame.loops), _caught(node)))
    with walk.inside(*protected, *((Within("try", place),) if node.handlers else ())):
        walk.run(node.body, frame)
    frame.catching.pop()
    if not walk.dead:
        with walk.inside(*protected):
            walk.run(node.orelse, frame)
    if not walk.dead:
        ends.append(walk.path)
    with walk.inside(*protected, Within("except", place)):
        for handler in node.handlers:
            failed = assume(before, failure(walk, node, handler, frame))
            if failed is None:
                continue
            walk.path, walk.dead = failed, False
            if handler.name:
                assign(walk, ast.Name(handler.name, ast.Store()), Opaque(handler.name), frame)
            with walk.inside(*(Within(kind, place) for kind in _kinds_of(handler))):
                walk.run(handler.body, frame)
            if not walk.dead:
                ends.append(walk.path)
    after = frozenset.intersection(*ends) if ends else before
    if node.finalbody:
        walk.path, walk.dead = before, False  # a return or a break in the body comes through here too
        with walk.inside(Within("finally", place)):
            walk.run(node.finalbody, frame)
        following = together(after, walk.path)
        walk.path, walk.dead = following or after, walk.dead or not ends
    else:
        walk.path, walk.dead = after, not ends


def _kinds_of(handler: ast.ExceptHandler) -> Iterator[str]:
    """Yield what a handler's block is, beyond that it is one."""
    if _catches_all(handler):
        yield "catch-all"
    if any(last_name(one) in _OF_THE_STEP for one in types_of(handler)):
        yield "failed-step"


_OF_THE_STEP = ("RuntimeError", "OutOfMemoryError", "AcceleratorError", "FloatingPointError")
"""What a training step raises on one rank: out of memory, a bad number."""


def _caught(node: "ast.Try") -> frozenset[str]:
    """Return the names of the exceptions after which the program goes on: caught, and not raised again."""
    found: set[str] = set()
    for handler in node.handlers:
        if any(_ends(inner) for one in handler.body for inner in nodes_of(one)):
            continue
        found |= {ALL_EXCEPTIONS[0] if one is None else last_name(one) for one in types_of(handler)}
    return frozenset(found)


def _ends(node: ast.AST) -> bool:
    """Whether a node raises or leaves the program."""
    if isinstance(node, ast.Raise):
        return True
    called = node.func if isinstance(node, ast.Call) else None
    return last_name(called) in ("exit", "_exit", "quit", "abort")


def _catches_all(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is there for whatever goes wrong: bare, or for ``Exception`` or ``BaseException``."""
    types = types_of(handler)
    return any(one is None or (isinstance(one, ast.Name) and one.id in ALL_EXCEPTIONS) for one in types)

"""The ways out of a loop, and under which conditions its rounds take them."""

import ast
from collections.abc import Iterable

from ddpdoctor.atom import Condition, Formula, Literal
from ddpdoctor.condition import negation
from ddpdoctor.events import LeftLoop, Loop
from ddpdoctor.reader.decided import decided
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.trees import last_name, nodes_of
from ddpdoctor.reader.walk import Walk


def leave_loops(walk: Walk, node: ast.AST, frame: Frame, how: str, depth: int = 0) -> None:
    """Note that control leaves the loops of a function from a depth on: the outermost of those that have rounds."""
    _leave_outermost(walk, node, how, frame.loops[max(depth, 0) :])


def _leave_outermost(walk: Walk, node: ast.AST, how: str, loops: Iterable[tuple[Loop | None, Condition]]) -> None:
    for loop, before in loops:
        if loop is not None:
            walk.emit(LeftLoop, node, how=how, loop=loop, since=before, decided=decided(walk).get("decided"))
        if loop is not None or how in ("break", "continue"):
            return


def raise_past_loops(walk: Walk, node: ast.Raise) -> None:
    """Note the loops between a ``raise`` and the ``try`` around it, or around a call of its function, that goes on."""
    named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = last_name(named)
    for at in range(len(walk.frames) - 1, -1, -1):
        for depth, caught in reversed(walk.frames[at].catching):
            if caught & {name, *ALL_EXCEPTIONS}:
                inner = [left for frame in walk.frames[at + 1 :] for left in frame.loops]
                _leave_outermost(walk, node, "raise", [*walk.frames[at].loops[depth:], *inner])
                return
    if walk.loops:
        walk.emit(LeftLoop, node, how="end", loop=walk.loops[-1])


ALL_EXCEPTIONS = ("Exception", "BaseException")


def end_by_its_test(walk: Walk, node: ast.While, frame: Frame, before: Condition) -> None:
    """Note under which condition the test of a ``while`` ends it, as its body leaves the names in it."""
    if isinstance(node.test, ast.Constant) or any(isinstance(inner, ast.Call) for inner in nodes_of(node.test)):
        return
    walk.path, walk.dead = before, False
    over = walk.assuming(negation(walk.test(node.test, frame)))
    if over is not None:
        walk.path = over
        leave_loops(walk, node.test, frame, "test", len(frame.loops) - 1)


def awaits_a_file(formula: Formula) -> bool:
    """Whether a ``while`` goes round for as long as some file is not there."""
    return isinstance(formula, Literal) and not formula.holds and formula.atom.text.endswith(" exists")


def leave_in_the_next_round(
    walk: Walk, node: "ast.For | ast.AsyncFor | ast.While", frame: Frame, before: Condition
) -> None:
    """Note under which condition an ``if stop: break`` ends a loop whose body gives ``stop`` a value after it.

    The one round that is interpreted comes to such a test before it comes to what decides it.
    """
    for at, statement in enumerate(node.body):
        if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], (ast.Break, ast.Return)):
            continue
        names = _names_in(statement.test)
        if names is None or not any(names & _given_values(later) for later in node.body[at + 1 :]):
            continue
        walk.path, walk.dead = before, False
        over = walk.assuming(walk.test(statement.test, frame))
        if over is not None:
            walk.path = over
            last = statement.body[-1]
            how = "break" if isinstance(last, ast.Break) else "return"
            leave_loops(walk, last, frame, how, len(frame.loops) - 1)


def _names_in(test: ast.expr) -> frozenset[str] | None:
    """Return the names and attributes that a test is made of, ``None`` where it calls something."""
    parts = list(nodes_of(test))
    return None if any(isinstance(part, ast.Call) for part in parts) else frozenset().union(*map(_name, parts))


def _given_values(statement: ast.stmt) -> frozenset[str]:
    """Return the names and attributes that a statement gives values."""
    stores = (part for part in nodes_of(statement) if isinstance(getattr(part, "ctx", None), ast.Store))
    return frozenset().union(*map(_name, stores))


def _name(part: ast.AST) -> frozenset[str]:
    if isinstance(part, ast.Name):
        return frozenset({part.id})
    return frozenset({part.attr}) if isinstance(part, ast.Attribute) else frozenset()


def has_break(node: "ast.For | ast.AsyncFor | ast.While") -> bool:
    """Whether a loop can be left before its end."""
    pending: list[ast.AST] = list(node.body)
    while pending:
        inner = pending.pop()
        if isinstance(inner, (ast.Break, ast.Return)):
            return True
        if not isinstance(inner, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(inner))
        else:
            pending.extend(child for child in nodes_of(inner) if isinstance(child, ast.Return))
    return False

"""What each kind of statement does; loops, ``with``, imports and definitions have files of their own."""

import ast
import re
from collections.abc import Sequence

from ddpdoctor.atom import Condition, Formula, Literal
from ddpdoctor.condition import assume, negation
from ddpdoctor.events import LeftLoop
from ddpdoctor.reader.abstract import NONE, Abstract, Known, Opaque
from ddpdoctor.reader.blocks import run_with
from ddpdoctor.reader.comparisons import compare
from ddpdoctor.reader.decided import note_decision
from ddpdoctor.reader.definitions import run_class_definition, run_function_definition
from ddpdoctor.reader.formulas import is_about
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.host import is_on_cpu, on_cpu
from ddpdoctor.reader.imports import run_import, run_import_from
from ddpdoctor.reader.layer_lists import extend_layers
from ddpdoctor.reader.leaving import leave_loops, raise_past_loops
from ddpdoctor.reader.loops import run_for, run_while
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.operators import binary
from ddpdoctor.reader.tables import Runner
from ddpdoctor.reader.tags import NO_TAGS, Tags, measures
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.tries import run_try
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression


def _expression(walk: Walk, node: ast.Expr, frame: Frame) -> None:
    walk.discarded = node.value
    walk.evaluate(node.value, frame)


def _assign(walk: Walk, node: ast.Assign, frame: Frame) -> None:
    value = walk.evaluate(node.value, frame)
    if isinstance(value, Known) and value.value is False and isinstance(node.value, ast.Constant):
        value = _switch(walk, node.targets[0], value, frame)
    for target in node.targets:
        assign(walk, target, value, frame)


def _switch(walk: Walk, target: ast.expr, value: Known, frame: Frame) -> Abstract:
    """Return a constant that switches the ranks on, ``distributed = False``: an option, which is set in the script."""
    source = frame.module.source
    if not isinstance(target, ast.Name) or not SWITCH.fullmatch(target.id) or source is None or source.tree is None:
        return value
    if not walk.syntax.is_switch(source.tree, target.id):
        return value
    return Opaque(target.id, frozenset({"configuration"}), origin="configuration", default=value)


SWITCH = re.compile(
    r"(?:(?:use|is|enable|with)_?)?(?:ddp|distributed|dist|multi_?gpus?)(?:_?(?:train|training|mode|run|enabled?|parallel))?",
    re.I,
)


def _annotated(walk: Walk, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(walk, node.target, walk.evaluate(node.value, frame), frame)


def _augmented(walk: Walk, node: ast.AugAssign, frame: Frame) -> None:
    """``x += y``: in a loop a number that is counted up has no one value."""
    left = walk.evaluate(_as_loaded(node.target), frame)
    value = binary(left, node.op, right := walk.evaluate(node.value, frame))
    if isinstance(node.op, ast.Add) and extend_layers(walk, left, right):
        return
    if is_on_cpu(left) and isinstance(value, Opaque):  # a tensor is changed in place
        on_cpu(value)
    if walk.loops and isinstance(node.target, (ast.Name, ast.Attribute)):
        tags = value.tags
        if not tags and not isinstance(value, Opaque) and getattr(value, "value", None).__class__ in (int, float):
            name = f"{text(left)} counted in {walk.line(node)}"
            value = Opaque(name, expression=Expression("counter", (name, True)))
    own = _own_place(walk, node.target, frame)
    assign(walk, node.target, Opaque(text(value), value.tags | own) if own else value, frame)


def _own_place(walk: Walk, target: ast.expr, frame: Frame) -> Tags:
    """Return what a rank has computed of where it counts: ``confusion[label, guess] += 1``."""
    if not isinstance(target, ast.Subscript):
        return NO_TAGS
    keys = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return measures(NO_TAGS.union(*(walk.evaluate(one, frame).tags for one in keys if isinstance(one, ast.Name))))


def _as_loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _pass(walk: Walk, node: ast.stmt, frame: Frame) -> None:
    return None  # of ``del`` too: what is deleted is not used again by a program that runs


def _assert(walk: Walk, node: ast.Assert, frame: Frame) -> None:
    """``assert``: what follows holds it, except where ranks differ in it; then nothing is concluded."""
    formula = walk.test(node.test, frame)
    if not is_about(formula, "rank") and not is_about(formula, "data"):
        if isinstance(formula, Literal) and formula.atom.kind == "configuration" and formula.atom.by_default is None:
            formula.atom.by_default = formula.holds  # who runs this gives an option with which it holds
        _restrict(walk, formula)


def _restrict(walk: Walk, formula: Formula) -> None:
    here = walk.assuming(formula)
    if here is not None:
        walk.path = here


def _return(walk: Walk, node: ast.Return, frame: Frame) -> None:
    value = NONE if node.value is None else walk.evaluate(node.value, frame)
    if not walk.dead:
        leave_loops(walk, node, frame, "return")
        frame.returns.append((walk.path, value))
        walk.dead = True


def _raise(walk: Walk, node: ast.Raise, frame: Frame) -> None:
    if node.exc is not None:
        exception = walk.evaluate(node.exc, frame)
        if "SystemExit" in text(exception):
            frame.exits.append(walk.path)
        raise_past_loops(walk, node)
    elif walk.loops:
        walk.emit(LeftLoop, node, how="end", loop=walk.loops[-1])
    walk.dead = True


def _break(walk: Walk, node: ast.Break, frame: Frame) -> None:
    leave_loops(walk, node, frame, "break", len(frame.loops) - 1)
    walk.dead = True


def _continue(walk: Walk, node: ast.Continue, frame: Frame) -> None:
    leave_loops(walk, node, frame, "continue", len(frame.loops) - 1)
    walk.dead = True


def _if(walk: Walk, node: ast.If, frame: Frame) -> None:
    formula = walk.test(node.test, frame)
    if walk.dead:
        return
    before = walk.path
    branches = [(assume(before, formula), node.body), (assume(before, negation(formula)), node.orelse)]
    if all(condition is None for condition, _ in branches):
        branches[0] = (before, node.body)
    note_decision(walk, node.test, branches)
    run_branches(walk, branches, frame)


def run_branches(walk: Walk, branches: Sequence[tuple[Condition | None, Sequence[ast.stmt]]], frame: Frame) -> None:
    """Interpret alternatives, each under its condition; what follows is under what those that end have in common."""
    ends: list[Condition] = []
    for condition, body in branches:
        if condition is None:
            continue
        walk.path, walk.dead = condition, False
        walk.run(body, frame)
        if not walk.dead:
            ends.append(walk.path)
    walk.dead = not ends
    if ends:
        walk.path = frozenset.intersection(*ends)


def _match(walk: Walk, node: ast.Match, frame: Frame) -> None:
    subject = walk.evaluate(node.subject, frame)
    rest: Condition | None = walk.path
    branches: list[tuple[Condition | None, Sequence[ast.stmt]]] = []
    for case in node.cases:
        if rest is None:
            break
        walk.path = rest
        formula = _pattern(walk, case.pattern, subject, frame)
        branches.append((assume(rest, formula), case.body))
        rest = assume(rest, negation(formula)) if case.guard is None else rest
    branches.append((rest, ()))
    run_branches(walk, branches, frame)


def _pattern(walk: Walk, pattern: ast.pattern, subject: object, frame: Frame) -> Formula:
    if isinstance(pattern, ast.MatchValue):
        return compare(walk, subject, ast.Eq(), walk.evaluate(pattern.value, frame), pattern)  # type: ignore[arg-type]
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return True
    return walk.literal(f"the pattern in {walk.line(pattern)} matches")


def _global(walk: Walk, node: ast.Global, frame: Frame) -> None:
    frame.globals |= set(node.names)


def _nonlocal(walk: Walk, node: ast.Nonlocal, frame: Frame) -> None:
    frame.nonlocals |= set(node.names)


STATEMENTS: dict[type[ast.AST], Runner] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _pass,
    ast.Pass: _pass,
    ast.Assert: _assert,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.If: _if,
    ast.Match: _match,
    ast.Try: run_try,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.Import: run_import,
    ast.ImportFrom: run_import_from,
    ast.FunctionDef: run_function_definition,
    ast.AsyncFunctionDef: run_function_definition,
    ast.ClassDef: run_class_definition,
    ast.For: run_for,
    ast.AsyncFor: run_for,
    ast.While: run_while,
    ast.With: run_with,
    ast.AsyncWith: run_with,
}
if hasattr(ast, "TryStar"):  # Python 3.11
    STATEMENTS[ast.TryStar] = run_try
if hasattr(ast, "TypeAlias"):  # Python 3.12
    STATEMENTS[ast.TypeAlias] = _pass

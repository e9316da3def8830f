"""Turns the tests of a program into formulas over canonical atoms."""

import ast

from ddpdoctor.atom import Formula
from ddpdoctor.condition import all_of, any_of, as_formula, assume, kinds_in, negation
from ddpdoctor.reader.abstract import Abstract, Choice, Items, Known, Opaque, Table, Truth, known, options
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.objects import Bound, Class, Function, Generator, Made, Object, Package, Partial
from ddpdoctor.reader.tags import Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import RANK_LEAVES, Expression, constant


def test(walk: Walk, node: ast.expr, frame: Frame) -> Formula:
    """Return the formula under which an expression is true; the right sides of ``and`` and ``or`` see the left ones."""
    if isinstance(node, ast.BoolOp):
        return _connective(walk, node, frame)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negation(test(walk, node.operand, frame))
    return truth_of(walk, walk.evaluate(node, frame), node)


def _connective(walk: Walk, node: ast.BoolOp, frame: Frame) -> Formula:
    before = walk.path
    conjunction = isinstance(node.op, ast.And)
    parts: list[Formula] = []
    for value in node.values:
        formula = test(walk, value, frame)
        parts.append(formula)
        further = assume(walk.path, formula if conjunction else negation(formula))
        if further is None:
            break
        walk.path = further
    walk.path = before
    return all_of(parts) if conjunction else any_of(parts)


def truth_of(walk: Walk, value: Abstract, node: ast.AST | None = None) -> Formula:
    """Return the formula under which a value is true."""
    if isinstance(value, Known):
        return bool(value.value)
    if isinstance(value, Truth):
        return value.formula
    if isinstance(value, Choice):
        return any_of(all_of([as_formula(when), truth_of(walk, option, node)]) for when, option in value.options)
    if isinstance(value, (Function, Class, Bound, Package, Partial, Generator)):
        return True
    if isinstance(value, (Items, Table)):
        filled = bool(value.items if isinstance(value, Items) else value.cells)
        if filled or not value.open:
            return filled
        return walk.literal(f"{text(value)} is not empty")
    if isinstance(value, Object):
        return True
    if isinstance(value, Made) and value.path in ALWAYS_TRUE:
        return True
    if isinstance(value, Opaque) and any(isinstance(part, Known) and part.value for part in value.parts):
        return True  # a text that was put together, and a part of it is not empty
    default = by_default(value)
    usual = bool(default.value) if isinstance(default, Known) else None
    known_number = number(value)
    if isinstance(value, Opaque) and known_number is not None:
        expression = Expression("bool", (known_number,))
        return walk.literal(
            value.name, kind_of(value.tags, value.origin, expression), expression, node, usual, value.tags
        )
    kind = kind_of(value.tags, getattr(value, "origin", "other"))
    name = text(value)
    settled = _settled(walk, name) if kind == "configuration" else None
    return walk.literal(name, kind, None, node, usual, value.tags) if settled is None else settled


def _settled(walk: Walk, name: str) -> bool | None:
    """Whether an option is true that was found equal to a constant before: ``args.spawn`` where ``args.spawn == 1``."""
    start = f"{name} == "
    for literal in walk.path:
        atom = literal.atom
        if literal.holds and atom.definition is None and atom.text.startswith(start):
            try:
                return bool(ast.literal_eval(atom.text[len(start) :]))
            except (ValueError, SyntaxError):
                return None
    return None


ALWAYS_TRUE = frozenset(
    {
        "torch.utils.data.DataLoader",
        "torch.utils.data.DistributedSampler",
        "torch.utils.data.RandomSampler",
        "torch.nn.parallel.DistributedDataParallel",
        "argparse.Namespace",
    }
)
"""Objects that are true because they are there: a sampler of an empty data set is no case anybody guards against."""


def kind_of(tags: Tags, origin: str = "other", expression: Expression | None = None) -> str:
    """Return the kind of an atom over a value: what decides it."""
    leaves = expression.leaves() if expression is not None else frozenset()
    if leaves & RANK_LEAVES or (leaves & {"environment"} and "rank" in tags):
        return "rank"
    if leaves & {"world_size", "local_world_size", "initialized", "node", "environment_has", "environment"}:
        return "world"
    if "data" in tags:
        return "data"
    if origin == "configuration" or "configuration" in tags:
        return "configuration"
    return "world" if "world" in tags else "other"


def by_default(value: Abstract) -> Abstract:
    """Return what an option is when it is not given; any other value as it is."""
    if isinstance(value, Opaque) and value.default is not None:
        return value.default
    if isinstance(value, Opaque) and value.parts:
        parts = [by_default(part) for part in value.parts]
        if all(isinstance(part, Known) and isinstance(part.value, (str, int)) for part in parts):
            return Known("".join(str(known(part)) for part in parts))
    return value


def number(value: Abstract) -> Expression | None:
    """Return how each rank works a value out, or ``None`` when it cannot."""
    if isinstance(value, Opaque):
        expression = value.expression
        return None if expression is not None and expression.operator == "sized" else expression
    if isinstance(value, Known):
        return constant(value.value)
    if isinstance(value, Items) and not value.open and all(isinstance(item, Known) for item in value.items):
        return constant(tuple(known(item) for item in value.items))
    return None


def named(value: Abstract) -> Expression:
    """Return the expression of a number of which no more than its name is known, or how it is made of such.

    Which numbers it can be that stand in the code goes along: where a run begins that resumes none.
    """
    if isinstance(value, Known):
        return constant(value.value)
    if isinstance(value, Opaque) and value.expression is not None and value.expression.operator == "sized":
        inner = value.expression.operands[0]
        assert isinstance(inner, Expression)
        return inner
    starts = tuple(known(one) for _, one in options(value) if isinstance(one, Known) and isinstance(one.value, int))
    return Expression("named", (text(value), starts) if starts else (text(value),))


def is_rank(value: Abstract) -> bool:
    """Whether a value is a rank number: worked out from the rank, not merely touched by it."""
    expression = number(value)
    return expression is not None and kind_of(value.tags, "other", expression) == "rank"


def boolean(formula: Formula) -> Abstract:
    """Return a formula as a value."""
    return Known(formula) if isinstance(formula, bool) else Truth(formula)


def is_about(formula: Formula, kind: str) -> bool:
    """Whether any atom of a formula is of a kind."""
    return kind in kinds_in(formula)

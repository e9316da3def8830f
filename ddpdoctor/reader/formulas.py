"""Turns the tests of a program into formulas over canonical atoms."""

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

from ddpdoctor.condition import Formula, all_of, any_of, as_formula, assume, kinds_in, negation
from ddpdoctor.reader.abstract import (
    Abstract,
    Attribute,
    Choice,
    External,
    Items,
    Known,
    Opaque,
    Table,
    Tags,
    Truth,
    is_none,
    known,
)
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.objects import Bound, Class, Function, Generator, Made, Object, Package, Partial
from ddpdoctor.reader.registries import fill
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import RANK_LEAVES, UNKNOWN, WORLDS, Expression, constant, evaluate, is_counted


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
    default = by_default(value)
    usual = bool(default.value) if isinstance(default, Known) else None
    known_number = number(value)
    if isinstance(value, Opaque) and known_number is not None:
        expression = Expression("bool", (known_number,))
        return walk.literal(
            value.name, kind_of(value.tags, value.origin, expression), expression, node, usual, value.tags
        )
    kind = kind_of(value.tags, getattr(value, "origin", "other"))
    return walk.literal(text(value), kind, None, node, usual, value.tags)


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


def compare(walk: Walk, left: Abstract, operator: ast.cmpop, right: Abstract, node: ast.AST) -> Formula:
    """Return the formula of one comparison; the negative operators are negations of the positive ones."""
    positive = _POSITIVE.get(type(operator))
    if positive is not None:
        return negation(compare(walk, left, positive, right, node))
    if isinstance(left, Choice):
        return _over_options(walk, left, operator, right, node, swapped=False)
    if isinstance(right, Choice):
        return _over_options(walk, right, operator, left, node, swapped=True)
    if isinstance(operator, ast.Is) or (isinstance(operator, ast.Eq) and is_none(right)):
        answer = _identity(left, right)
        if answer is not None:
            return answer
    if isinstance(operator, ast.Gt):
        return compare(walk, right, ast.Lt(), left, node)
    if isinstance(operator, ast.In):
        return _membership(walk, left, right, node)
    answer = _computed(left, operator, right)
    if answer is not None:
        return answer
    return _comparison(walk, left, operator, right, node)


_POSITIVE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.NotEq: ast.Eq(),
    ast.IsNot: ast.Is(),
    ast.NotIn: ast.In(),
    ast.GtE: ast.Lt(),
}
_SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.Is: "is", ast.Lt: "<", ast.LtE: "<=", ast.In: "in"}


def _over_options(
    walk: Walk, value: Choice, operator: ast.cmpop, other: Abstract, node: ast.AST, *, swapped: bool
) -> Formula:
    parts: list[Formula] = []
    for when, option in value.options:
        pair = (other, option) if swapped else (option, other)
        parts.append(all_of([as_formula(when), compare(walk, pair[0], operator, pair[1], node)]))
    return any_of(parts)


def _identity(left: Abstract, right: Abstract) -> bool | None:
    """Whether two values are the same object, where one is ``None`` or both are known."""
    if isinstance(left, Known) and isinstance(right, Known):
        return left.value is right.value or (left.value == right.value and type(left.value) is type(right.value))
    for one, other in ((left, right), (right, left)):
        if is_none(one) and isinstance(other, (Made, Object, Function, Class, Items, Table, Truth, Bound, Partial)):
            return None if isinstance(other, Made) and other.path in MAY_BE_NONE else False
    return True if left is right and isinstance(left, (Made, Object, Class)) else None


MAY_BE_NONE = frozenset({"re.match", "re.search", "dict.get", "shutil.which", "os.environ.get"})


def _computed(left: Abstract, operator: ast.cmpop, right: Abstract) -> bool | None:
    one, other = _plain(left), _plain(right)
    if one is NOT_PLAIN or other is NOT_PLAIN:
        return None
    function = _COMPARISONS.get(type(operator))
    result = NO_RESULT if function is None else computed(function, one, other)
    return None if result is NO_RESULT else bool(result)


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operators.eq,
    ast.Is: operators.eq,
    ast.Lt: operators.lt,
    ast.LtE: operators.le,
    ast.In: lambda item, holder: item in holder,
}


def _plain(value: Abstract) -> object:
    """Return the constant that a value is, a tuple for a list of constants, or a mark that it is none."""
    if isinstance(value, Known):
        return value.value
    if isinstance(value, Items) and not value.open and all(isinstance(item, Known) for item in value.items):
        return tuple(known(item) for item in value.items)
    if isinstance(value, External) and value.path in DTYPES:
        return DTYPES[value.path]
    return NOT_PLAIN


NOT_PLAIN = object()
DTYPES = {
    f"torch.{name}": ("dtype", dtype)
    for dtype, names in (("float16", "float16 half"), ("bfloat16", "bfloat16"), ("float32", "float32 float"))
    for name in names.split()
}
"""The number formats that mixed precision chooses between: two names of one are equal, of two are not."""


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
    """Return the expression of a number of which no more than its name is known, or how it is made of such."""
    if isinstance(value, Known):
        return constant(value.value)
    if isinstance(value, Opaque) and value.expression is not None and value.expression.operator == "sized":
        inner = value.expression.operands[0]
        assert isinstance(inner, Expression)
        return inner
    return Expression("named", (text(value),))


def is_rank(value: Abstract) -> bool:
    """Whether a value is a rank number: worked out from the rank, not merely touched by it."""
    expression = number(value)
    return expression is not None and kind_of(value.tags, "other", expression) == "rank"


def _comparison(walk: Walk, left: Abstract, operator: ast.cmpop, right: Abstract, node: ast.AST) -> Formula:
    sign = _SIGNS[type(operator)]
    if isinstance(operator, (ast.Eq, ast.Is)) and _comes_first(right, left):
        left, right = right, left
    name = f"{text(left)} {sign} {text(right)}"
    usual = _computed(by_default(left), operator, by_default(right))
    expressions = [_decided(left, right), _decided(right, left)]
    tags = left.tags | right.tags
    origins = {getattr(value, "origin", "other") for value in (left, right)}
    if not (is_rank(left) or is_rank(right)) and (is_counted(number(left)) or is_counted(number(right))):
        counted = Expression(sign, (number(left) or named(left), number(right) or named(right)))
        origin = "configuration" if "configuration" in origins else "other"
        return walk.literal(name, kind_of(tags, origin), counted, node, usual, tags)
    if None not in expressions and any(_varies(expression) for expression in expressions):
        expression = Expression("==" if sign == "is" else sign, tuple(expressions))
        return walk.literal(name, kind_of(tags, "other", expression), expression, node, usual)
    if is_rank(left) or is_rank(right):
        return walk.literal(name, "rank", None, node, usual)
    origin = "configuration" if "configuration" in origins else "other"
    return walk.literal(name, kind_of(tags, origin), None, node, usual, tags)


def _comes_first(value: Abstract, other: Abstract) -> bool:
    """Whether a value stands left in the canonical text of an equality: constants stand right."""
    if isinstance(value, Known) is not isinstance(other, Known):
        return isinstance(other, Known)
    return text(value) < text(other)


def _varies(expression: Expression | None) -> bool:
    return expression is not None and not expression.leaves() <= {"constant"}


def _decided(value: Abstract, other: Abstract) -> Expression | None:
    """Return the expression of one side; a number that is compared with a rank counts as its default, or as 0.

    ``rank == cfg.main_rank`` is a rank test whatever the option says: one rank passes it. So is ``rank == n - 1`` for
    any number that is the same on every rank.
    """
    expression = number(value)
    if not is_rank(other) or not isinstance(value, (Opaque, Attribute)) or value.tags & {"rank", "data"}:
        return expression
    if any(isinstance(tag, tuple) and tag[0] in ("index", "round") for tag in value.tags):
        return expression  # each rank has rounds of its own
    if expression is None or all(evaluate(expression, member) is UNKNOWN for member in WORLDS["torchrun"]):
        default = known(by_default(value), 0)
        return constant(default if isinstance(default, (int, str)) else 0)
    return expression


def _membership(walk: Walk, item: Abstract, holder: Abstract, node: ast.AST) -> Formula:
    if isinstance(holder, External) and holder.path == "os.environ" and isinstance(item, Known):
        return _in_environment(walk, str(item.value), node)
    if isinstance(holder, Items) and not holder.open:
        if all(isinstance(member, Known) for member in holder.items):
            if isinstance(item, Known):
                return item.value in [known(member) for member in holder.items]
        elif isinstance(item, Known):
            return any_of(compare(walk, item, ast.Eq(), member, node) for member in holder.items[:6])
    if isinstance(holder, Table):
        fill(walk, holder, known(item))
    if isinstance(holder, Table) and not holder.open and isinstance(item, Known):
        cell = holder.cells.get(item.value) if isinstance(item.value, (str, int)) else None
        return any_of(as_formula(when) for when, _ in cell) if cell else False
    if isinstance(holder, Known) and isinstance(item, Known):
        answer = _computed(item, ast.In(), holder)
        if answer is not None:
            return answer
    return _comparison(walk, item, ast.In(), holder, node)


def _in_environment(walk: Walk, name: str, node: ast.AST) -> Formula:
    written = walk.environment.get(name)
    if written is not None and any(not when for when, _ in written):
        return True
    atom = walk.literal(f"{name!r} in os.environ", "world", Expression("environment_has", (name,)), node)
    if written:
        return any_of([atom, *(as_formula(when) for when, _ in written)])
    return atom


def boolean(formula: Formula) -> Abstract:
    """Return a formula as a value."""
    return Known(formula) if isinstance(formula, bool) else Truth(formula)


def is_about(formula: Formula, kind: str) -> bool:
    """Whether any atom of a formula is of a kind."""
    return kind in kinds_in(formula)

"""Comparisons of values as formulas: what can be worked out, what decides between ranks, and what stays a test."""

import ast
import operator as operators
from collections.abc import Callable
from typing import Any

from ddpdoctor.atom import Formula
from ddpdoctor.condition import all_of, any_of, as_formula, negation
from ddpdoctor.reader.abstract import (
    Abstract,
    Attribute,
    Choice,
    External,
    Items,
    Known,
    Opaque,
    Table,
    Truth,
    is_none,
    known,
)
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.formulas import by_default, is_rank, kind_of, named, number
from ddpdoctor.reader.library.kinds import WRAPPERS
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.registries import fill
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.versions import of_torch_version
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import UNKNOWN, WORLDS, Expression, constant, evaluate, is_counted

_POSITIVE: dict[type[ast.cmpop], ast.cmpop] = {
    ast.NotEq: ast.Eq(),
    ast.IsNot: ast.Is(),
    ast.NotIn: ast.In(),
    ast.GtE: ast.Lt(),
}
_SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.Is: "is", ast.Lt: "<", ast.LtE: "<=", ast.In: "in"}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operators.eq,
    ast.Is: operators.eq,
    ast.Lt: operators.lt,
    ast.LtE: operators.le,
    ast.In: lambda item, holder: item in holder,
}


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
    if isinstance(operator, (ast.Is, ast.Eq)):
        answer = _same_class(left, right)
        if answer is not None:
            return answer
    if isinstance(operator, ast.Gt):
        return compare(walk, right, ast.Lt(), left, node)
    if isinstance(operator, ast.In):
        return _membership(walk, left, right, node)
    answer = _computed(left, operator, right)
    if answer is None:
        answer = of_torch_version(left, operator, right)
    if answer is not None:
        return answer
    if isinstance(left, Truth) or isinstance(right, Truth):
        told = _of_a_test(left, operator, right)
        if told is not None:
            return told
    return _comparison(walk, left, operator, right, node)


def _over_options(
    walk: Walk, value: Choice, operator: ast.cmpop, other: Abstract, node: ast.AST, *, swapped: bool
) -> Formula:
    parts: list[Formula] = []
    for when, option in value.options:
        pair = (other, option) if swapped else (option, other)
        parts.append(all_of([as_formula(when), compare(walk, pair[0], operator, pair[1], node)]))
    return any_of(parts)


def _of_a_test(left: Abstract, operator: ast.cmpop, right: Abstract) -> Formula | None:
    """Return what a comparison of a boolean with a constant comes to: ``distributed > 1`` never holds."""
    answers = []
    for outcome in (Known(True), Known(False)):
        one, other = (outcome if isinstance(side, Truth) else side for side in (left, right))
        answers.append(_computed(one, operator, other))
    test = left if isinstance(left, Truth) else right
    if None in answers or not isinstance(test, Truth):
        return None
    held, failed = answers
    return any_of([test.formula] * bool(held) + [negation(test.formula)] * bool(failed))


def _identity(left: Abstract, right: Abstract) -> bool | None:
    """Whether two values are the same object, where one is ``None`` or both are known."""
    if isinstance(left, Known) and isinstance(right, Known):
        return left.value is right.value or (left.value == right.value and type(left.value) is type(right.value))
    for one, other in ((left, right), (right, left)):
        if is_none(one) and isinstance(other, (Made, Object, Function, Class, Items, Table, Truth, Bound, Partial)):
            return None if isinstance(other, Made) and other.path in MAY_BE_NONE else False
        if is_none(one) and isinstance(other, External) and other.path.startswith(ALWAYS_THERE):
            return False
        if is_none(one) and isinstance(other, Opaque) and other.parts:
            return False  # a text that was put together
    return True if left is right and isinstance(left, (Made, Object, Class)) else None


def _same_class(left: Abstract, right: Abstract) -> bool | None:
    """Whether two classes are one, where at least one of them is the project's or a wrapper of models."""
    if not isinstance(left, (Class, External)) or not isinstance(right, (Class, External)):
        return None
    if isinstance(left, External) and isinstance(right, External):
        told = WRAPPERS & {left.path, right.path} or {left.path, right.path} <= BUILTIN_TYPES
        return left.path == right.path if told else None
    return left is right


BUILTIN_TYPES = frozenset(f"builtins.{one}" for one in ("bool", "dict", "float", "int", "list", "set", "str", "tuple"))


ALWAYS_THERE = ("torch.nn.", "torch.optim.", "torchvision.models.", "torchvision.transforms.")
"""Modules of which every name is a class, a function or a module: ``norm_layer=nn.GroupNorm`` is not ``None``."""
MAY_BE_NONE = frozenset({"re.match", "re.search", "dict.get", "shutil.which", "os.environ.get"})


def _computed(left: Abstract, operator: ast.cmpop, right: Abstract) -> bool | None:
    one, other = _plain(left), _plain(right)
    if one is NOT_PLAIN or other is NOT_PLAIN:
        return None
    function = _COMPARISONS.get(type(operator))
    result = NO_RESULT if function is None else computed(function, one, other)
    return None if result is NO_RESULT else bool(result)


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
        return in_environment(walk, str(item.value), node)
    if isinstance(holder, Items) and not holder.open:
        if all(isinstance(member, Known) for member in holder.items):
            if isinstance(item, Known):
                return item.value in [known(member) for member in holder.items]
        elif isinstance(item, (Known, Class, External)):
            return any_of(compare(walk, item, ast.Eq(), member, node) for member in holder.items[:6])
    if isinstance(holder, Made) and holder.path.endswith(".keys") and holder.args and isinstance(item, Known):
        return _membership(walk, item, holder.args[0], node)  # ``name in options.keys()``
    if isinstance(holder, Table):
        fill(walk, holder, known(item))
    if isinstance(holder, Table) and not holder.open and isinstance(item, Known):
        cell = holder.cells.get(item.value) if isinstance(item.value, (str, int)) else None
        return any_of(as_formula(when) for when, _ in cell) if cell else False
    if isinstance(holder, Table) and not holder.open and isinstance(item, Opaque) and item.default is not None:
        holder = _names_in(holder) or holder
    if isinstance(holder, Opaque) and isinstance(known(item), str) and _is_in_a_piece(str(known(item)), holder):
        return True
    if isinstance(holder, Known) and isinstance(item, Known):
        answer = _computed(item, ast.In(), holder)
        if answer is not None:
            return answer
    return _comparison(walk, item, ast.In(), holder, node)


def _names_in(table: Table) -> Items | None:
    """Return the keys of a dictionary as a list, where each is there whatever happens."""
    if len(table.cells) > MAX_KEYS or any(len(cell) != 1 or cell[0][0] for cell in table.cells.values()):
        return None
    return Items([Known(key) for key in table.cells])


MAX_KEYS = 32


def _is_in_a_piece(item: str, holder: Opaque) -> bool:
    """Whether a text that was put together (``f"cuda:{rank}"``) surely has another text in it."""
    return any(item in str(known(part, "")) for part in holder.parts if isinstance(part, Known))


def in_environment(walk: Walk, name: str, node: ast.AST) -> Formula:
    """Return whether an environment variable is set: by a launcher, or by the script itself."""
    written = walk.environment.get(name)
    if written is not None and any(not when for when, _ in written):
        return True
    atom = walk.literal(f"{name!r} in os.environ", "world", Expression("environment_has", (name,)), node)
    if written:
        return any_of([atom, *(as_formula(when) for when, _ in written)])
    return atom

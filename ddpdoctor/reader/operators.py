"""Arithmetic and text building: how rank numbers survive them, and what merely gets touched by a rank."""

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from ddpdoctor.reader.abstract import Abstract, Choice, Items, Known, Opaque, Table, derived, options
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.constants import NO_RESULT, computed, is_small
from ddpdoctor.reader.formulas import named, number
from ddpdoctor.reader.given import added
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.tags import Tags, measures
from ddpdoctor.reader.texts import text
from ddpdoctor.world import RANK_LEAVES, Expression, is_counted

_FUNCTIONS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Div: ("/", operator.truediv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.BitOr: ("|", operator.or_),
    ast.BitAnd: ("&", operator.and_),
}
_WIDE = re.compile(r"\*|[0-9]{3}")
CONSTANT = frozenset({"constant"})
MAX_PARTS = 64
"""How many pieces of a text are kept."""
MAX_PAIRS = 8
"""More pairs of alternatives are not worked out one by one."""


def binary(left: Abstract, op: ast.operator, right: Abstract) -> Abstract:
    """Return the value of a binary operation."""
    if isinstance(left, Choice) and isinstance(right, Choice) and len(left.options) * len(right.options) > MAX_PAIRS:
        if any(is_counted(number(option)) for _, option in left.options):
            return binary(left, op, _as_one(right))
        sign = _FUNCTIONS[type(op)][0] if type(op) in _FUNCTIONS else type(op).__name__
        expression = _combined(sign, _common(left), _common(right))
        return Opaque(f"{text(left)} {sign} {text(right)}", left.tags | right.tags, expression=expression)
    if isinstance(left, Choice):
        return choice((when, binary(option, op, right)) for when, option in options(left))
    if isinstance(right, Choice):
        return choice((when, binary(left, op, option)) for when, option in options(right))
    if isinstance(left, Known) and isinstance(right, Known):
        computed = _compute(left.value, op, right.value)
        if computed is not None:
            return computed
    held = _of_containers(left, op, right)
    if held is not None:
        return held
    if isinstance(left, Known) and isinstance(left.value, str) and isinstance(op, ast.Mod):
        return formatted(left.value, right)
    if _is_text(left) or _is_text(right):
        if isinstance(op, (ast.Add, ast.Div)):  # the latter puts paths together
            return joined([left, right] if isinstance(op, ast.Add) else [left, Known("/"), right])
        return Opaque(f"{text(left)} {text(right)}", left.tags | right.tags)
    sign = _FUNCTIONS[type(op)][0] if type(op) in _FUNCTIONS else type(op).__name__
    tags = _flowing(left, op, right)
    one, other = _numbers(left, right)
    expression = _combined(sign, one, other)
    if expression is not None and sign == "+" and None in (one, other):
        tags |= {"guessed"}
    elif expression is not None and sign == "*" and Expression("node") in expression.operands:
        tags -= {"guessed"}  # what is multiplied is a node's number, as its name says
    if expression is None and sign in _KEPT and all(part is None or _leaves(part) <= CONSTANT for part in (one, other)):
        made_of_names = derived(sign, named(left), named(right))
        expression = derived("sized", made_of_names)
    return Opaque(
        f"{text(left)} {sign} {text(right)}",
        tags,
        origin="configuration" if _is_option(left) or _is_option(right) else "other",
        expression=expression,
    )


def _as_one(value: Choice) -> Opaque:
    """Return one of many possible numbers by its name, for what is counted beside it."""
    option = any(_is_option(one) for _, one in value.options)
    return Opaque(text(value), value.tags, origin="configuration" if option else "other", expression=_common(value))


def _of_containers(left: Abstract, op: ast.operator, right: Abstract) -> Abstract | None:
    """Return a container that is made of others, ``None`` where what is in it is not known."""
    if isinstance(left, Items) and isinstance(right, Items) and isinstance(op, ast.Add):
        return Items([*left.items, *right.items], left.kind, more=left.open or right.open)
    if isinstance(left, Items) and isinstance(op, ast.Mult):
        return _repeated(left, right)
    if isinstance(right, Items) and isinstance(op, ast.Mult):
        return _repeated(right, left)
    if isinstance(left, Table) and isinstance(right, Table) and isinstance(op, ast.BitOr):
        return Table({**left.cells, **right.cells}, more=left.open or right.open)
    return None


def _repeated(layers: Items, count: Abstract) -> Items | None:
    """``n * [Block(64)]``: the list has the same layers several times, each of which is known once."""
    if not any(is_module(item) for item in layers.items):
        return None
    if isinstance(count, Known) and count.value == 0:
        return Items((), layers.kind)
    once = isinstance(count, Known) and count.value == 1
    return Items(layers.items, layers.kind, more=layers.open or not once)


def _flowing(left: Abstract, op: ast.operator, right: Abstract) -> Tags:
    """Return what flows into the result of a binary operation."""
    tags = left.tags | right.tags
    if isinstance(op, ast.Div) and "clock" in right.tags:
        tags -= measures(tags)  # samples a second: how fast the rank was, and not how good the model is
    return tags | added(left, right) if isinstance(op, ast.Add) else tags


def _numbers(left: Abstract, right: Abstract) -> tuple[Expression | None, Expression | None]:
    """Return how each rank works two operands out; beside a loop's count, what is not known goes by its name."""
    one, other = number(left), number(right)
    if is_counted(one) and not is_counted(other):
        return (None, other) if _leaves(other) & RANK_LEAVES else (one, other or named(right))
    if is_counted(other) and not is_counted(one):
        return (one, None) if _leaves(one) & RANK_LEAVES else (one or named(left), other)
    return one, other


def _compute(left: object, op: ast.operator, right: object) -> Abstract | None:
    entry = _FUNCTIONS.get(type(op))
    if entry is None:
        return None
    if isinstance(op, ast.Pow) and not (isinstance(right, (int, float)) and -64 <= right <= 64):
        return None
    if isinstance(op, ast.Mult) and any(isinstance(side, (str, bytes, tuple)) for side in (left, right)):
        return None  # "x" * n makes much of little
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)) and _WIDE.search(repr(left)):
        return None  # so does "%9999d" % n
    result = computed(entry[1], left, right)
    return None if result is NO_RESULT else Known(result)


def _is_option(value: Abstract) -> bool:
    return isinstance(value, Opaque) and value.origin == "configuration"


def _is_text(value: Abstract) -> bool:
    return (isinstance(value, Known) and isinstance(value.value, str)) or (
        isinstance(value, Opaque) and bool(value.parts)
    )


def _combined(sign: str, left: Expression | None, right: Expression | None) -> Expression | None:
    """Return the expression of an operation on rank numbers.

    Where one side is unknown (a number of processes from the configuration), arithmetic on ranks still means what it
    always means: ``rank % n`` is the rank on the node, ``rank // n`` the node, ``node * n`` the ranks before that node,
    and something ``+ local_rank`` the rank.
    """
    if left is not None and right is not None:
        if not (_leaves(left) | _leaves(right)) - {"constant"} and not (_is_number(left) and _is_number(right)):
            return None
        if sign not in _KEPT or (sign == "*" and not (_is_number(left) and _is_number(right))):
            return None
        return derived(sign, _as_node(sign, left), _as_node(sign, right))
    here, there = _leaves(left), _leaves(right)
    if sign == "%" and here & {"rank"}:
        return Expression("local_rank")
    if sign == "//" and here & {"rank"}:
        return Expression("node")
    if sign == "*" and Expression("node") in (left, right):
        return Expression("*", (Expression("node"), Expression("local_world_size")))
    if sign == "+" and (here | there) & {"rank", "local_rank"}:
        return Expression("rank")
    return None


_KEPT = frozenset({"+", "-", "*", "//", "/", "%"})


def _common(value: Choice) -> Expression | None:
    """Return the kind of rank that every option of a choice is, or ``None`` where one is none."""
    leaves = [_leaves(number(option)) for _, option in options(value)]
    if not all(one & {"rank", "local_rank", "environment"} for one in leaves):
        return None
    local = all(one <= {"local_rank", "constant"} for one in leaves)
    return Expression("local_rank" if local else "rank")


def _as_node(sign: str, expression: Expression) -> Expression:
    """Return what is multiplied by a number of processes: an option called rank is a node's number there."""
    return Expression("node") if sign == "*" and expression == Expression("rank") else expression


def _is_number(expression: Expression) -> bool:
    """Whether an expression is a number on every rank; a text that is multiplied can fill the memory."""
    if expression.operator == "constant":
        return isinstance(expression.operands[0], (int, float))
    if expression.operator in ("environment", "str", "unknown"):
        return False
    nested = (operand for operand in expression.operands if isinstance(operand, Expression))
    return expression.operator == "int" or all(map(_is_number, nested))


def _leaves(expression: Expression | None) -> frozenset[str]:
    return frozenset() if expression is None else expression.leaves()


def unary(op: ast.unaryop, value: Abstract) -> Abstract:
    """Return the value of ``-x``, ``+x`` or ``~x``."""
    if isinstance(value, Known) and isinstance(value.value, (int, float)):
        if isinstance(op, ast.USub):
            return Known(-value.value)
        if isinstance(op, ast.UAdd):
            return value
    return Opaque(f"{type(op).__name__} {text(value)}", value.tags)


def joined(parts: list[Abstract]) -> Abstract:
    """Return the text that is put together from pieces."""
    flat: list[Abstract] = []
    for piece in parts:
        flat += piece.parts if isinstance(piece, Opaque) and piece.parts else [piece]
    if all(isinstance(piece, Known) for piece in flat):
        pieces = [piece for piece in flat if isinstance(piece, Known)]
        whole = "".join(str(piece.value) for piece in pieces)
        if is_small(whole):
            return Known(whole, next((piece.written for piece in reversed(pieces) if piece.written), None))
    name = "".join(str(piece.value) if isinstance(piece, Known) else "{" + text(piece) + "}" for piece in flat)
    tags = frozenset().union(*(piece.tags for piece in flat))
    said = [piece for piece in flat if not (isinstance(piece, Known) and piece.value == "")]
    expression = derived("str", number(said[0])) if len(said) == 1 else None
    return Opaque(f'f"{name}"', tags, parts=tuple(flat[:MAX_PARTS]), expression=expression)


def formatted(template: str, values: Abstract) -> Abstract:
    """Return ``template % values`` or ``template.format(values)``, in as many pieces as can be told apart."""
    items = values.items if isinstance(values, Items) else [values]
    pieces: list[Abstract] = []
    rest = template
    for item in items:
        for mark in ("{}", "%d", "%s", "%i"):
            before, found, after = rest.partition(mark)
            if found:
                pieces += [Known(before), item]
                rest = after
                break
        else:
            pieces.append(item)
    return joined([*pieces, Known(rest)])

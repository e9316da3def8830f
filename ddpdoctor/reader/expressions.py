"""What each kind of expression evaluates to."""

import ast

from ddpdoctor.condition import all_of, any_of, as_formula, assume, negation
from ddpdoctor.consequences import since
from ddpdoctor.reader.abstract import NONE, Abstract, External, Items, Known, Opaque, Table, Truth, known
from ddpdoctor.reader.arguments import arguments, update_table
from ddpdoctor.reader.attributes import get_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.comparisons import compare
from ddpdoctor.reader.comprehensions import comprehension
from ddpdoctor.reader.constants import is_small
from ddpdoctor.reader.cuts import marks_of_position, marks_of_slice
from ddpdoctor.reader.definitions import lambda_function
from ddpdoctor.reader.formulas import boolean, is_rank, number, test, truth_of
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.generators import run_yield, run_yield_from
from ddpdoctor.reader.given import whose
from ddpdoctor.reader.items import get_item
from ddpdoctor.reader.library.builtin import spelt_out
from ddpdoctor.reader.library.kinds import children_of
from ddpdoctor.reader.names import assign, look_up
from ddpdoctor.reader.objects import Super
from ddpdoctor.reader.operators import binary, joined, unary
from ddpdoctor.reader.ports import can_hold_a_port, is_flag
from ddpdoctor.reader.tables import Evaluator
from ddpdoctor.reader.tags import NO_TAGS, Tags, of_numbers
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import is_counted


def _constant(walk: Walk, node: ast.Constant, frame: Frame) -> Abstract:
    value = node.value
    if isinstance(value, (int, str)) and (can_hold_a_port(value) or is_flag(value)):
        return Known(value, walk.place(node))
    return Known(value) if not isinstance(value, int) or is_small(value) else Opaque("a large number")


def _name(walk: Walk, node: ast.Name, frame: Frame) -> Abstract:
    return look_up(walk, node.id, frame)


def _attribute(walk: Walk, node: ast.Attribute, frame: Frame) -> Abstract:
    return get_attribute(walk, walk.evaluate(node.value, frame), node.attr, node)


def _subscript(walk: Walk, node: ast.Subscript, frame: Frame) -> Abstract:
    holder = walk.evaluate(node.value, frame)
    return get_item(walk, holder, walk.evaluate(node.slice, frame), node)


def _slice(walk: Walk, node: ast.Slice, frame: Frame) -> Abstract:
    parts = [NONE if part is None else walk.evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    if all(isinstance(part, Known) for part in parts):
        return Known(slice(*(part.value for part in parts if isinstance(part, Known))))
    tags = NO_TAGS.union(*(part.tags for part in parts))
    if any(is_rank(part) or "rank" in part.tags for part in parts[:2]):
        tags |= {"shard"}
    tags |= marks_of_slice(parts[0], parts[1], parts[2], walk.place(node))
    if walk.loops and not walk.in_forward:
        tags |= marks_of_position(parts[0])
    return Opaque(":".join(text(part) for part in parts), tags)


def _display(walk: Walk, node: "ast.List | ast.Tuple | ast.Set", frame: Frame) -> Abstract:
    items: list[Abstract] = []
    more = False
    for element in node.elts:
        if isinstance(element, ast.Starred):
            value = walk.evaluate(element.value, frame)
            value = children_of(value) or value
            if isinstance(value, Items):
                items += value.items
                more = more or value.open
            else:
                items.append(Opaque(f"items of {text(value)}", value.tags | whose(value)))
                more = True
        else:
            items.append(walk.evaluate(element, frame))
    return Items(items, type(node).__name__.lower(), more=more)


def _dict(walk: Walk, node: ast.Dict, frame: Frame) -> Abstract:
    table = Table()
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = walk.evaluate(value_node, frame)
        if key is None:
            update_table(walk, table, value)
        else:
            name = walk.evaluate(key, frame)
            walk.tables.set_item(walk, table, name, value, node)
            if isinstance(name, Known) and name.written is not None:
                table.written = {**(table.written or {}), name.value: name.written}
    return table


def _joined_string(walk: Walk, node: ast.JoinedStr, frame: Frame) -> Abstract:
    return joined([_piece(walk, value, frame) for value in node.values])


def _piece(walk: Walk, node: ast.expr, frame: Frame) -> Abstract:
    if isinstance(node, ast.FormattedValue):
        value = spelt_out(walk, walk.evaluate(node.value, frame), node)
        return value if node.format_spec is None or not isinstance(value, Known) else Opaque(f"{text(value)} formatted")
    return walk.evaluate(node, frame)


def _formatted(walk: Walk, node: ast.FormattedValue, frame: Frame) -> Abstract:
    return walk.evaluate(node.value, frame)


def _binary(walk: Walk, node: ast.BinOp, frame: Frame) -> Abstract:
    left, right = walk.evaluate(node.left, frame), walk.evaluate(node.right, frame)
    if isinstance(node.op, ast.Mod) and known(right) == 1 and is_counted(number(left)):
        if not _is_setting(walk, node.right):
            return Known(0)
        right = Opaque(ast.unparse(node.right), frozenset({"configuration"}), origin="configuration", default=right)
    return binary(left, node.op, right)


def _is_setting(walk: Walk, one: ast.expr) -> bool:
    """Whether a 1 that a loop's count is divided by is there to be made another number: it has a name.

    Not so where the program has a way to put averaging off, which it takes for other numbers only.
    """
    return not isinstance(one, ast.Constant) and not any(
        word in source for source in _texts(walk) for word in PUTTING_OFF
    )


PUTTING_OFF = ("no_sync", "grad_sync", "gradient_sync")


def _texts(walk: Walk) -> list[str]:
    modules = (walk.project.main, *walk.project.imported())
    return [module.source.text for module in modules if module.source is not None]


def _unary(walk: Walk, node: ast.UnaryOp, frame: Frame) -> Abstract:
    if isinstance(node.op, ast.Not):
        return boolean(negation(test(walk, node.operand, frame)))
    return unary(node.op, walk.evaluate(node.operand, frame))


def _compare(walk: Walk, node: ast.Compare, frame: Frame) -> Abstract:
    left = walk.evaluate(node.left, frame)
    parts, own = [], NO_TAGS
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = walk.evaluate(comparator, frame)
        parts.append(compare(walk, left, operator, right, node))
        own |= of_numbers(left.tags | right.tags)
        left = right
    return _of_measures(boolean(all_of(parts)), own)


def _of_measures(answer: Abstract, own: Tags) -> Abstract:
    """Return the answer of a comparison of what ranks computed: of tensors, a tensor that goes on being counted."""
    if own and isinstance(answer, Truth):
        answer.tags |= own
    return answer


def _bool_op(walk: Walk, node: ast.BoolOp, frame: Frame) -> Abstract:
    """Return ``a or b`` and ``a and b``: the first value that decides, each under the condition that it does."""
    before = walk.path
    found: list[tuple[frozenset, Abstract]] = []  # type: ignore[type-arg]
    for i, operand in enumerate(node.values):
        value = walk.evaluate(operand, frame)
        formula = truth_of(walk, value, operand)
        decides = formula if isinstance(node.op, ast.Or) else negation(formula)
        last = i == len(node.values) - 1
        here = walk.path if last else assume(walk.path, decides)
        if here is not None:
            decided = value if last else _decided(value, isinstance(node.op, ast.Or))
            shown = boolean(formula) if isinstance(value, Truth) else decided
            found.append((since(here, before), shown))
        further = None if last else assume(walk.path, negation(decides))
        if further is None:
            break
        walk.path = further
    walk.path = before
    if all(
        isinstance(value, Truth) or (isinstance(value, Known) and isinstance(value.value, bool)) for _, value in found
    ):
        return boolean(any_of(all_of([as_formula(when), truth_of(walk, value)]) for when, value in found))
    return choice(found)


def _decided(value: Abstract, holds: bool) -> Abstract:
    """Return what an option is where its truth decides: ``args.shuffle and …`` is no ``True`` that it is by default."""
    usual = value.default if isinstance(value, Opaque) and value.expression is None else None
    if not isinstance(usual, Known) or bool(usual.value) is holds:
        return value
    if isinstance(usual.value, bool):
        return Known(holds)
    return value if holds or not isinstance(usual.value, (int, float, str)) else Known(type(usual.value)())


def _conditional(walk: Walk, node: ast.IfExp, frame: Frame) -> Abstract:
    formula = test(walk, node.test, frame)
    before = walk.path
    found: list[tuple[frozenset, Abstract]] = []  # type: ignore[type-arg]
    for branch, part in ((formula, node.body), (negation(formula), node.orelse)):
        here = assume(before, branch)
        if here is not None:
            walk.path = here
            found.append((since(here, before), walk.evaluate(part, frame)))
    walk.path = before
    return choice(found)


def _lambda(walk: Walk, node: ast.Lambda, frame: Frame) -> Abstract:
    return lambda_function(walk, node, frame)


def _named(walk: Walk, node: ast.NamedExpr, frame: Frame) -> Abstract:
    value = walk.evaluate(node.value, frame)
    assign(walk, node.target, value, frame)
    return value


def _starred(walk: Walk, node: ast.Starred, frame: Frame) -> Abstract:
    return walk.evaluate(node.value, frame)


def _await(walk: Walk, node: "ast.Await", frame: Frame) -> Abstract:
    return walk.evaluate(node.value, frame)


def _call(walk: Walk, node: ast.Call, frame: Frame) -> Abstract:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and "super" not in frame.cells:
        return _super(walk, node, frame)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("__next__", "next"):
        walk.first_look = node.func.value
    callee = walk.evaluate(node.func, frame)
    if isinstance(callee, External) and callee.path == "builtins.next" and node.args:
        walk.first_look = node.args[0]
    given = arguments(walk, node, frame)
    call = Call(given.args, given.kwargs, node, frame, given.more, given.spread)
    return walk.call(callee, call)


def _super(walk: Walk, node: ast.Call, frame: Frame) -> Abstract:
    scope: Frame | None = frame
    while scope is not None and scope.owner is None:
        scope = scope.parent
    if scope is None or scope.owner is None or scope.receiver is None:
        return Opaque("super()")
    return Super(scope.owner, scope.receiver)


EXPRESSIONS: dict[type[ast.AST], Evaluator] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dict,
    ast.JoinedStr: _joined_string,
    ast.FormattedValue: _formatted,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: run_yield,
    ast.YieldFrom: run_yield_from,
    ast.Call: _call,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
}

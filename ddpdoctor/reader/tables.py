"""The parts of the interpreter, by what each does: through this table they know each other."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddpdoctor.atom import Formula
from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Object

if TYPE_CHECKING:
    from ddpdoctor.reader.walk import Walk

Evaluator = Callable[["Walk", Any, Frame], Abstract]
Runner = Callable[["Walk", Any, Frame], None]


class Tables(NamedTuple):
    """What each kind of syntax and each external call does; the parts of the interpreter know each other through it."""

    expressions: dict[type[ast.AST], Evaluator]
    statements: dict[type[ast.AST], Runner]
    call: Callable[["Walk", Abstract, Call], Abstract]
    get_attribute: Callable[["Walk", Abstract, str, ast.AST], Abstract]
    set_attribute: Callable[["Walk", Abstract, str, Abstract, ast.AST], None]
    set_item: Callable[["Walk", Abstract, Abstract, Abstract, ast.AST], None]
    get_item: Callable[["Walk", Abstract, Abstract, ast.AST], Abstract]
    iterator: Callable[["Walk", Call], Abstract]
    item_of: Callable[["Walk", Abstract, ast.AST], Abstract]
    decorate: Callable[["Walk", Abstract, Abstract, ast.expr, Frame], Abstract]
    base_called: Callable[["Walk", Object, Call], None]
    attribute_model: Callable[[str], Callable[["Walk", Any, str, ast.AST], "Abstract | None"] | None]
    given_value: Callable[[str], "Abstract | None"]
    attribute_written: Callable[["Walk", Abstract, str, Abstract, ast.AST], None]
    enter_manager: Callable[["Walk", Abstract, ast.expr, Frame, Callable[[Abstract], None]], None]
    load: Callable[["Walk", Module], None]
    is_silent: Callable[["Walk", Any, Any], bool]
    test: Callable[["Walk", ast.expr, Frame], Formula]

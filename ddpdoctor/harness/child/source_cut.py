"""Rewrites the heads of the loops in the user's code as it is loaded; lines and columns stay what they are."""

import ast
import builtins
import importlib.machinery
import os
import runpy
import sys
from types import CodeType
from typing import Any

from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.own_streams import open_file
from ddpdoctor.harness.child.rounds import Rounds

ROUNDS, AGAIN, NEXT = "__ddpdoctor_rounds__", "__ddpdoctor_again__", "__ddpdoctor_next__"
"""The names under which the methods of :class:`Rounds` stand among the builtins."""

WORTH_A_LOOK = (b"epoch", b"step", b"iter", b"loader", b"batch", b"train")
"""A module without any of these words is left as it is: parsing a large project takes seconds."""

_ENDS_CAUGHT = {"StopIteration", "Exception", "BaseException"}
_IMPORTS_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


class LoopHeads(ast.NodeTransformer):
    """Wraps what loops loop over, the tests of ``while`` loops and calls of ``next`` and ``__next__``.

    Left alone are loops in which no training step can be taken, for there is no call in them, and generator
    expressions and asynchronous loops, which do not run where they stand.
    """

    def __init__(self) -> None:
        self._ends_caught = 0

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        if _calls(node.body):
            node.iter = _call(ROUNDS, [node.iter, ast.Constant(_can_be_left(node.body))], node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if _calls([node]):
            lines: list[ast.expr] = [ast.Constant(node.lineno), ast.Constant(node.end_lineno)]
            again = _call(AGAIN, lines, node.test)
            node.test = ast.copy_location(ast.BoolOp(ast.And(), [again, node.test]), node.test)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        caught = any(_catches(handler, _ENDS_CAUGHT) for handler in node.handlers)
        self._ends_caught += caught
        node.body = [self.visit(statement) for statement in node.body]
        self._ends_caught -= caught
        for part in (node.handlers, node.orelse, node.finalbody):
            for statement in part:
                self.visit(statement)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer, self._ends_caught = self._ends_caught, 0
        self.generic_visit(node)
        self._ends_caught = outer
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp, made: list[ast.expr]) -> ast.AST:
        self.generic_visit(node)
        first = node.generators[0]  # it alone is evaluated in the frame around the comprehension
        if _calls(made) and not first.is_async:
            first.iter = _call(ROUNDS, [first.iter], first.iter)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "next" or (isinstance(node.func, ast.Attribute) and node.func.attr == "__next__"):
            node.func = _call(NEXT, [node.func, ast.Constant(bool(self._ends_caught))], node.func)
        return node


def _call(name: str, arguments: list[ast.expr], at: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(name, ast.Load()), arguments, [])
    for node in ast.walk(call):
        if not hasattr(node, "lineno") and isinstance(node, ast.expr):
            ast.copy_location(node, at)
    return call


def _calls(nodes: list[Any]) -> bool:
    """Whether anything happens in nodes in which a training step could be taken: there, or by who gets a yield."""
    return any(isinstance(inner, (ast.Call, ast.Yield, ast.YieldFrom)) for node in nodes for inner in ast.walk(node))


def _can_be_left(body: list[ast.stmt]) -> bool:
    """Whether a loop may end before what it loops over: by a ``break`` of its own, or a ``return``."""
    pending: list[tuple[ast.AST, bool]] = [(statement, True) for statement in body]
    while pending:
        node, own = pending.pop()
        if isinstance(node, ast.Return) or (own and isinstance(node, ast.Break)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            own = own and not isinstance(node, (ast.For, ast.AsyncFor, ast.While))
            pending += [(inner, own) for inner in ast.iter_child_nodes(node)]
    return False


def _catches(handler: ast.ExceptHandler, names: set[str]) -> bool:
    if handler.type is None:
        return True
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
        for node in ast.walk(handler.type)
    )


class SourceCut:
    """Compiles the user's modules with their loops rewritten, and knows which of their imports may fail."""

    def __init__(self, frames: UserFrames, rounds: Rounds) -> None:
        self._frames = frames
        self._rounds = rounds
        self._guarded: dict[str, tuple[range, ...]] = {}

    def compiled(self, source: bytes | str, path: str) -> CodeType:
        """Return the code of a module of the user's.

        Raises SyntaxError or ValueError as ``compile`` does.
        """
        tree = ast.parse(source, path)
        self._guarded[path] = tuple(
            range(node.lineno, node.body[-1].end_lineno + 1)
            for node in ast.walk(tree)
            if isinstance(node, ast.Try) and any(_catches(handler, _IMPORTS_CAUGHT) for handler in node.handlers)
            if node.body[-1].end_lineno
        )
        code: CodeType = compile(LoopHeads().visit(tree), path, "exec", dont_inherit=True)
        return code

    def may_fail(self, path: str, line: int) -> bool:
        """Whether an import on a line of a module of the user's is inside a ``try`` that expects it to fail."""
        ranges = self._guarded.get(path)
        if ranges is None:
            try:
                with open_file(path, "rb") as file:
                    self.compiled(file.read(), path)
            except (OSError, SyntaxError, ValueError):
                return False
            ranges = self._guarded.get(path, ())
        return any(line in lines for lines in ranges)

    def install(self) -> None:
        """Have the user's modules loaded through :meth:`compiled`: imported ones, and a child's main module."""
        setattr(builtins, ROUNDS, self._rounds.of)
        setattr(builtins, AGAIN, self._rounds.again)
        setattr(builtins, NEXT, self._rounds.asks)
        sys.dont_write_bytecode = True  # what is compiled here is no bytecode of the module's
        self._install_loader()
        self._install_runpy()

    def _install_loader(self) -> None:
        loader: Any = importlib.machinery.SourceFileLoader
        original = loader.get_code

        def get_code(this: Any, fullname: str) -> CodeType | None:
            path = self._frames.path(this.path)
            if path is not None:
                source = this.get_data(this.path)
                if any(word in source for word in WORTH_A_LOOK):
                    return self.compiled(source, path)
            code: CodeType | None = original(this, fullname)
            return code

        loader.get_code = get_code

    def _install_runpy(self) -> None:
        """A spawned child runs its parent's main module by ``runpy.run_path``."""
        run: Any = runpy
        original = getattr(run, "_get_code_from_file", None)
        if original is None:
            return

        def get_code_from_file(*arguments: Any) -> Any:  # (path), before Python 3.13 (run name, path)
            path = self._frames.path(os.fsdecode(arguments[-1]))
            if path is None:
                return original(*arguments)
            with open_file(path, "rb") as file:
                code = self.compiled(file.read(), path)
            return code if len(arguments) == 1 else (code, path)

        run._get_code_from_file = get_code_from_file

"""Facts about pieces of syntax that are asked for often and found once: yields, assigned names, mentions of ranks."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias, TypeGuard

from ddpdoctor.reader.objects import Class
from ddpdoctor.reader.rank_words import kept_as_given, ranks_told, speaks_of_ranks, tells_the_rank
from ddpdoctor.reader.trees import nodes_of, own_nodes, root_name

Loop: TypeAlias = "ast.For | ast.AsyncFor | ast.While"


class Syntax:
    """Remembers what it was asked about nodes."""

    def __init__(self) -> None:
        self._generators: dict[ast.AST, bool] = {}
        self._attributes: dict[ast.AST, frozenset[str]] = {}
        self._stores: dict[ast.AST, dict[str, list[ast.Name]]] = {}
        self._rank_aware: dict[Class, bool] = {}
        self._drawn_with: dict[Class, frozenset[str]] = {}
        self._read: dict[ast.AST, frozenset[str]] = {}
        self._dynamic: dict[ast.AST, bool] = {}
        self._ranks: dict[ast.AST, frozenset[str]] = {}
        self._switches: dict[ast.Module, frozenset[str]] = {}

    def is_generator(self, node: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> bool:
        """Whether a function has a yield of its own."""
        if node not in self._generators:
            body = [] if isinstance(node, ast.Lambda) else node.body
            self._generators[node] = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own_nodes(body))
        return self._generators[node]

    def assigned_in(self, loop: Loop) -> frozenset[str]:
        """Return the names of the variables that a loop's body gives values."""
        return frozenset(self._stores_in(loop))

    def counts_up(self, loop: Loop, name: str) -> bool:
        """Whether a loop adds one to a variable in each round, and gives it no value otherwise."""
        stores = self._stores_in(loop).get(name, [])
        added = [
            one.target
            for one in loop.body
            if isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and isinstance(one.value, ast.Constant)
            and one.value.value == 1
        ]
        return len(stores) == 1 and stores[0] in added

    def only_counts(self, loop: Loop, name: str) -> bool:
        """Whether a loop does nothing to a variable but add whole numbers that are written there."""
        stores = self._stores_in(loop).get(name, [])
        added = {
            id(one.target)
            for one in own_nodes(loop.body)
            if isinstance(one, ast.AugAssign)
            and isinstance(one.op, ast.Add)
            and isinstance(one.value, ast.Constant)
            and type(one.value.value) is int
        }
        return bool(stores) and all(id(store) in added for store in stores)

    def sets(self, loop: Loop, name: str) -> bool:
        """Whether a loop gives a variable a value anew, and does not only add to the one that it has."""
        stores = self._stores_in(loop).get(name)
        if not stores:
            return False
        added = {id(one.target) for one in own_nodes(loop.body) if isinstance(one, ast.AugAssign)}
        return any(id(store) not in added for store in stores)

    def _stores_in(self, loop: Loop) -> dict[str, list[ast.Name]]:
        """Return where a loop's body gives variables values, by their names."""
        if loop not in self._stores:
            self._stores[loop] = stores = dict[str, list[ast.Name]]()
            for inner in own_nodes(loop.body):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    stores.setdefault(inner.id, []).append(inner)
        return self._stores[loop]

    def attributes_set_in(self, function: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> frozenset[str]:
        """Return the names of the attributes that a function gives values, of whatever object."""
        if function not in self._attributes:
            self._attributes[function] = frozenset(
                inner.attr
                for inner in own_nodes([] if isinstance(function, ast.Lambda) else function.body)
                if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
            )
        return self._attributes[function]

    def has_another_rank(self, trees: "tuple[ast.Module, ...]", option: str) -> bool:
        """Whether a program takes its rank from elsewhere than an option, and never stores it under that name."""
        nodes = [node for tree in trees for node in nodes_of(tree)]
        return any(map(tells_the_rank, nodes)) and not any(_stores(node, option) for node in nodes)

    def names_read(self, tree: ast.AST) -> frozenset[str]:
        """Return the attributes that code reads, and the words in its texts by which it can come to others."""
        if tree not in self._read:
            self._read[tree] = frozenset(word for node in nodes_of(tree) for word in _words(node))
        return self._read[tree]

    def named_twice(self, tree: ast.ClassDef) -> frozenset[str]:
        """Return the attributes that a class gives what a variable holds already (``self.proj = proj``)."""
        return frozenset(
            target.attr
            for node in nodes_of(tree)
            if isinstance(node, ast.Assign) and (isinstance(node.value, ast.Name) or len(node.targets) > 1)
            for target in node.targets
            if isinstance(target, ast.Attribute)
        )

    def given_as_rank(self, function: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> frozenset[str]:
        """Return the parameters that a function tells ``init_process_group`` are the rank, whatever they are called."""
        if function not in self._ranks:
            body = [] if isinstance(function, ast.Lambda) else function.body
            self._ranks[function] = frozenset(name for node in own_nodes(body) for name in ranks_told(node))
        return self._ranks[function]

    def is_dynamic(self, tree: ast.Module) -> bool:
        """Whether code comes to attributes of objects by names that it makes, or to all of a module's parts in turn."""
        if tree not in self._dynamic:
            imported = {
                (alias.asname or alias.name).partition(".")[0]
                for node in nodes_of(tree)
                if isinstance(node, (ast.Import, ast.ImportFrom))
                for alias in node.names
            }
            self._dynamic[tree] = any(_is_dynamic(node, imported) for node in nodes_of(tree))
        return self._dynamic[tree]

    def is_switch(self, tree: ast.Module, name: str) -> bool:
        """Whether a variable is given one value in all of a module, and decides which of its code runs."""
        if tree not in self._switches:
            stored, asked = Counter[str](), set[str]()
            for node in nodes_of(tree):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    stored[node.id] += 1
                elif isinstance(node, (ast.If, ast.IfExp)):
                    asked |= {one.id for one in nodes_of(node.test) if isinstance(one, ast.Name)}
            self._switches[tree] = frozenset(one for one in asked if stored[one] == 1)
        return name in self._switches[tree]

    def mentions_rank(self, cls: Class) -> bool:
        """Whether the code of a class or its bases speaks of ranks."""
        if cls not in self._rank_aware:
            self._rank_aware[cls] = any(self._uses_rank(one) for one in cls.resolution()) or any(
                "istributed" in path for path in cls.external_bases()
            )
        return self._rank_aware[cls]

    def is_filled(self, cls: Class) -> bool:
        """Whether objects of a class are given their data piece by piece, as a buffer of what a rank has seen is."""
        methods = (node for one in cls.resolution() for node in one.node.body if isinstance(node, ast.FunctionDef))
        return any(_fills(inner) for one in methods if one.name != "__init__" for inner in nodes_of(one))

    def _uses_rank(self, cls: Class) -> bool:
        """Whether a class does more with a rank than to take one and to keep it where nothing of it reads it."""
        kept: set[str] = set()
        for method in cls.node.body:
            is_first = isinstance(method, ast.FunctionDef) and method.name == "__init__"
            for node in method.body if isinstance(method, ast.FunctionDef) and is_first else (method,):
                names = kept_as_given(node) if is_first else frozenset()
                kept |= names
                if not names and speaks_of_ranks(node):
                    return True
        return bool(kept & self.names_read(cls.node))

    def drawn_with(self, cls: Class) -> frozenset[str]:
        """Return the names of attributes and methods that drawing samples from an object of a class goes through."""
        if cls not in self._drawn_with:
            methods: dict[str, list[ast.AST]] = {}
            for one in cls.resolution():
                for node in one.node.body:
                    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        methods.setdefault(node.name, []).append(node)
            found, pending = set[str](), [name for name in DRAWING if name in methods]
            while pending:
                name = pending.pop()
                if name not in found:
                    found.add(name)
                    nodes = (inner for node in methods.get(name, ()) for inner in nodes_of(node))
                    pending += [inner.attr for inner in nodes if _is_read_of_self(inner)]
            self._drawn_with[cls] = frozenset(found)
        return self._drawn_with[cls]


DRAWING = ("__getitem__", "__getitems__", "__iter__", "__call__", "forward")
"""Methods of data sets and transforms that run in a loader's workers."""


def _is_read_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def _fills(node: ast.AST) -> bool:
    """Whether ``self.seen.append(new)``, or ``self.seen[place] = new``."""
    holder: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        holder = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        holder = node.func.value if node.func.attr in ("append", "appendleft", "extend", "add") else None
    return isinstance(holder, ast.Attribute) and root_name(holder) == "self"


def _words(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < MAX_WORD:
        yield from node.value.split(".")


MAX_WORD = 80


def _is_dynamic(node: ast.AST, imported: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        from_outside = isinstance(node.value, ast.Name) and node.value.id in imported
        return node.attr in _ALL_PARTS and not from_outside
    if isinstance(node, ast.FunctionDef) and node.name == "forward":
        return any(isinstance(one, ast.Attribute) and one.attr.endswith("modules") for one in nodes_of(node))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    first = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else None
    if node.func.id in ("eval", "exec") or (node.func.id == "vars" and first == "self"):
        return True
    if node.func.id != "getattr" or len(node.args) < 2 or isinstance(node.args[1], ast.Constant):
        return False
    return root_name(node.args[0]) not in imported  # getattr(torch.optim, name) is no part of a model


_ALL_PARTS = frozenset({"children", "named_children", "_modules", "get_submodule", "__getattr__", "__dict__"})


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)


_COUNTED = re.compile(r"\.[ \t]*(\w+)[ \t]*(?:\+|-|\*\*?|//?|%|@|&|\||\^|<<|>>)=(?!=)")


_SET_FROM_ITSELF = re.compile(r"\.(\w+)[ \t]*=(?!=)[^\n=]*\.\1[ \t]*[-+*/](?!=)")


@lru_cache(maxsize=1_000)
def counted_attributes(source: str) -> frozenset[str]:
    """Return the attributes that a module counts up somewhere (``self.step += 1``, ``self.step = self.step + 1``)."""
    return frozenset(_COUNTED.findall(source)) | frozenset(_SET_FROM_ITSELF.findall(source))

"""Programs without an entry: functions that nothing calls are interpreted with unknown arguments."""

import ast
import os
import re
from collections.abc import Iterator

from ddpdoctor.atom import ALWAYS
from ddpdoctor.events import Backward, Event, FrameworkOwns, GroupInit, LoaderBuilt, ModelWrapped, ProcessStarted
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.objects import Bound, Class, Function, Generator, Object
from ddpdoctor.reader.project import Project, description
from ddpdoctor.reader.trees import nodes_of
from ddpdoctor.reader.walk import Walk

REACHED: tuple[type[Event], ...] = (GroupInit, ModelWrapped, ProcessStarted, LoaderBuilt, Backward, FrameworkOwns)
"""Events that show that a program's own entry reaches what is looked for."""


def run_uncalled(walk: Walk) -> bool:
    """Interpret what nothing calls in a program that reaches nothing by itself; return whether it had an entry."""
    if any(isinstance(event, REACHED) for event in walk.events):
        return True
    module = walk.project.main
    tree = module.source.tree if module.source else None
    if module.source is None or tree is None:
        return True
    mentioned = _mentioned(tree)
    before = len(walk.events)
    frame = Frame(module, module.cells)
    walk.frames.append(frame)
    for name in ("main", *_installed_commands(walk.project)):
        entry = module.cells[name][-1][1] if name in module.cells and name not in mentioned else None
        if isinstance(entry, Function) and entry.module is module:
            _run_root(walk, entry, (range(before),), frame, mentioned)
    if any(isinstance(event, REACHED) for event in walk.events) or not speaks_of_ranks(module.source.text):
        walk.frames.pop()
        return True
    walk.no_entry = True
    speaking = _speaking(tree, module.source.text)
    for held, cell in list(module.cells.items()):
        value = cell[-1][1]
        ours = isinstance(value, (Function, Class)) and value.module is module and held not in mentioned
        if ours and held in speaking:
            _run_root(walk, value, (range(before),), frame, mentioned)
    walk.no_entry = False
    walk.frames.pop()
    return len(walk.events) == before


def _installed_commands(project: Project) -> Iterator[str]:
    """Yield the functions of the script that its project installs as commands (``go = "package.train:main"``)."""
    stem = os.path.splitext(os.path.basename(project.script))[0]
    pattern = re.compile(rf"[\"'=\s][\w.]*\b{re.escape(stem)}:(\w+)")
    files = (os.path.join(root, name) for root in project.roots for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    for file in files:
        yield from dict.fromkeys(pattern.findall(description(file)))


_RANKS = (
    r"\b(?:dist|rank|spawn)\b|istributed|DataParallel|_rank|rank_|world_?size|barrier|all_reduce|all_gather|broadcast|"
    r"is_main|is_master|(?:main|master)_process|set_epoch"
)
"""One of these stands in code that could do harm in several processes where no caller tells what it is for."""


def speaks_of_ranks(text: str) -> bool:
    """Whether a module by itself can have to do with several processes; else it does what its callers are for."""
    return re.search(_RANKS, text) is not None


def _speaking(tree: ast.Module, text: str) -> frozenset[str]:
    """Return the names of a module's functions and classes that speak of ranks, or come to what does by names in it."""
    lines = text.splitlines()
    said: dict[str, str] = {}
    brought: set[str] = set()
    for node in tree.body:
        names: list[str] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.If, ast.Try, ast.With)):
            names = [one.id for one in nodes_of(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        piece = "\n".join(lines[_first_line(node) - 1 : node.end_lineno])
        if isinstance(node, (ast.Import, ast.ImportFrom)) and re.search(_OF_RANKS, piece):
            brought.update(names)
        for name in names:
            said[name] = said.get(name, "") + piece
    spoken = {piece for piece in set(said.values()) if speaks_of_ranks(piece)}  # one assignment can have many names
    speaking = brought | {name for name, piece in said.items() if piece in spoken}
    pending = {name: frozenset(re.findall(_NAMES, piece)) for name, piece in said.items() if name not in speaking}
    while True:
        more = {name for name, used in pending.items() if not speaking.isdisjoint(used)}
        if not more:
            return frozenset(speaking)
        speaking |= more
        pending = {name: used for name, used in pending.items() if name not in more}


_NAMES = r"[A-Za-z_]\w*"
_OF_RANKS = r"(?i:dist|ddp|parallel|comm|rank|launch)"
"""One of these stands in an import that brings what is about ranks."""


def _first_line(node: ast.stmt) -> int:
    """Return the line in which a statement begins, with its decorators."""
    decorators = getattr(node, "decorator_list", [])
    return min(int(one.lineno) for one in (node, *decorators))


def _mentioned(tree: ast.Module) -> frozenset[str]:
    names = {node.id for node in nodes_of(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    names |= {
        node.attr for node in nodes_of(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    return frozenset(names)


def _run_root(walk: Walk, value: Abstract, before: tuple[range, ...], frame: Frame, mentioned: frozenset[str]) -> None:
    """Call a function, or the methods of a new object that no other code calls; ``before`` are the module's events."""
    walk.path, walk.dead, walk.loops, walk.within, walk.stack = ALWAYS, False, (), (), ()
    walk.file = walk.project.script
    if isinstance(value, Function):
        if value.node not in walk.called:
            _call_root(walk, value, before, frame)
        return
    assert isinstance(value, Class)
    begun = len(walk.events)
    made = walk.call(value, Call((), {}, value.node, frame))
    before = (*before, range(begun, len(walk.events)))
    walk.roots.append(before)
    if not isinstance(made, Object):
        return
    for cls in value.resolution():
        for name in list(cls.attributes):
            method = class_attribute(walk, value, str(name))
            if isinstance(method, Function) and method.node not in walk.called and name not in mentioned:
                walk.path, walk.dead = ALWAYS, False
                _call_root(walk, Bound(method, made), before, frame)


def _call_root(walk: Walk, callee: Abstract, before: tuple[range, ...], frame: Frame) -> None:
    begun = len(walk.events)
    function = callee.function if isinstance(callee, Bound) else callee
    assert isinstance(function, Function)
    walk.start_as_root()
    result = walk.call(callee, Call((), {}, function.node, frame))
    if isinstance(result, Generator):
        walk.start_as_root()
        run_body(walk, function, result.call, lambda value: value)
    walk.dead = False
    walk.roots.append((*before, range(begun, len(walk.events))))

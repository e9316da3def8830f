"""Starting processes: what runs in them, and whether anybody waits for them."""

import ast

from ddpdoctor.atom import ALWAYS
from ddpdoctor.events import Collective, Loop, ProcessJoined, ProcessStarted
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Choice, External, Items, Known, Opaque, is_none, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.formulas import number
from ddpdoctor.reader.library.text_methods import joined
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.pickling import unpicklable
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression, is_counted

SPAWN = "torch.multiprocessing.spawn"
PROCESS = "multiprocessing.Process"
CONTEXT = "multiprocessing.context"
LAUNCHERS = tuple(
    f"accelerate.{name}"
    for name in ("notebook_launcher", "debug_launcher", "launchers.notebook_launcher", "launchers.debug_launcher")
)
METHOD = "start method"
"""The hidden attribute of a process that was made by a context."""


def _spawn(walk: Walk, call: Call) -> Abstract:
    """``mp.spawn(fn, args, nprocs, join, daemon, start_method)``: fn gets the index of its process first."""
    function = call.argument("fn", 0)
    given = call.argument("args", 1)
    join = call.argument("join", 3)
    context = _marked(walk.make(call, NO_TAGS, SPAWN))
    method = known(call.argument("start_method", 5))
    child = _start(
        walk,
        call,
        context,
        function,
        given,
        method=method if isinstance(method, str) else "spawn",
        count=call.argument("nprocs", 2) or Known(1),
        join=join or Known(True),
        daemon=call.argument("daemon", 4) or Known(False),
    )
    if function is not None:
        args = tuple(given.items) if isinstance(given, Items) else ()
        run_child(walk, child, function, Call((_index(), *args), {}, call.node, call.frame))
    return context


def _launched(walk: Walk, call: Call) -> Abstract:
    """``notebook_launcher(function, args, num_processes)``: forks the ranks; a single process trains alone.

    ``accelerate/launchers.py``: each rank finds its number in the environment, as with torchrun, and not among its
    arguments.
    """
    function, given = call.argument("function", 0), call.argument("args", 1)
    count = call.argument("num_processes", 2) or Opaque("as many as there are devices")
    inner = Call(tuple(given.items) if isinstance(given, Items) else (), {}, call.node, call.frame)
    if function is None or known(count) in (0, 1):
        return NONE
    _start_as_launcher(walk, inner, call, function, count, "fork")
    return NONE


def launched(walk: Walk, call: Call, function: Abstract, count: Abstract) -> None:
    """Interpret what a launcher runs as the ranks, which find their numbers in the environment, and waits for."""
    _start_as_launcher(walk, call, call, function, count, "spawn")


def _start_as_launcher(walk: Walk, inner: Call, call: Call, function: Abstract, count: Abstract, method: str) -> None:
    started = _marked(walk.make(call, NO_TAGS, call.path))
    given = Items(inner.args, "tuple")
    child = _start(
        walk, call, started, function, given, method=method, count=count, join=Known(True), daemon=Known(False)
    )
    run_child(walk, child, function, inner)


def _index() -> Abstract:
    return Opaque("process index", frozenset({"rank"}), origin="rank", expression=Expression("local_rank"))


def _start(
    walk: Walk,
    call: Call,
    started: Made,
    function: Abstract | None,
    *given: Abstract | None,
    method: str,
    count: Abstract,
    join: Abstract,
    daemon: Abstract,
) -> str:
    child = f"child {walk.children}"
    walk.children += 1
    walk.emit(
        ProcessStarted,
        call.node,
        started=started.ref,
        method=method,
        target="" if function is None else text(function),
        child=child,
        count=lower(count),
        join=lower(join),
        daemon=lower(daemon),
        unpicklable=next((found for one in (function, *given) if (found := unpicklable(one))), ""),
    )
    return child


def run_child(walk: Walk, child: str, function: Abstract, call: Call) -> None:
    """Interpret what a process runs: its calls, loops and blocks begin anew; the environment is a copy."""
    if walk.in_child >= MAX_NESTING:
        return
    saved = walk.process, walk.stack, walk.loops, walk.within, walk.dead, walk.environment
    walk.process, walk.stack, walk.loops, walk.within = child, (), (), ()
    walk.environment = {name: list(cell) for name, cell in walk.environment.items()}
    file, path = walk.file, walk.path
    walk.in_child += 1
    try:
        walk.call_as_root(function, call)
    finally:
        walk.in_child -= 1
        walk.process, walk.stack, walk.loops, walk.within, walk.dead, walk.environment = saved
        walk.file, walk.path = file, path


MAX_NESTING = 3


def _process(walk: Walk, call: Call) -> Abstract:
    """``Process(target=…, args=…)``: nothing runs before ``start``."""
    process = walk.make(call, NO_TAGS, PROCESS)
    context = call.receiver
    if isinstance(context, Made) and context.path == CONTEXT and context.argument("method", 0) is not None:
        write(process.attributes, METHOD, ALWAYS, context.argument("method", 0) or NONE)
    return _marked(process)


def _method(walk: Walk, process: Made) -> str:
    """Return how a process is started: as its context says, else as the program has set it."""
    cell = process.attributes.get(METHOD)
    method = known(cell[-1][1]) if cell else walk.start_method
    return method if isinstance(method, str) else "unknown"


def _marked(started: Made) -> Made:
    """Mark what is drawn from lists and objects that hold processes as one of them."""
    started.tags |= {("process", started.ref)}
    return started


def _start_process(walk: Walk, call: Call) -> Abstract | None:
    process = call.receiver
    if not isinstance(process, Made) or process.path != PROCESS:
        return None
    target = process.argument("target", 1)
    given, named = process.argument("args", 3), process.argument("kwargs", 4)
    child = _start(
        walk,
        call,
        process,
        target,
        given,
        named,
        method=_method(walk, process),
        count=Known(1) if not walk.loops else Opaque("as many as the loop has rounds"),
        join=Known(False),
        daemon=_daemon(walk, process),
    )
    if target is not None and not is_none(target):
        args = tuple(_ranked(walk, arg) for arg in given.items) if isinstance(given, Items) else ()
        kwargs: dict[str, Abstract] = {}
        if named is not None and hasattr(named, "cells"):
            kwargs = {str(key): _ranked(walk, cell[-1][1]) for key, cell in named.cells.items()}
        run_child(walk, child, target, Call(args, kwargs, call.node, call.frame))
    return NONE


def _daemon(walk: Walk, process: Made) -> Abstract:
    cell = process.attributes.get("daemon")
    return cell[-1][1] if cell else process.argument("daemon") or Known(False)


def _ranked(walk: Walk, value: Abstract) -> Abstract:
    """Return an argument as the child gets it: the variable of the loop that starts the processes is its rank."""
    indices = [tag for tag in value.tags if isinstance(tag, tuple) and tag[0] == "index" and isinstance(tag[1], Loop)]
    if isinstance(value, Opaque) and indices and (number(value) is None or is_counted(value.expression)):
        return Opaque(value.name, frozenset({"rank"}), origin="rank", expression=Expression("local_rank"))
    return value


def _join(walk: Walk, call: Call) -> Abstract | None:
    """``process.join()``: of a process or context that is known, or of something that holds some."""
    receiver = call.receiver
    if isinstance(receiver, Known):
        return joined(call)
    if not isinstance(receiver, (Made, Opaque, Attribute, Choice)):
        return None
    refs = {tag[1] for tag in receiver.tags if isinstance(tag, tuple) and tag[0] == "process"}
    for ref in sorted(refs, key=lambda ref: (ref.place, ref.n)):
        walk.emit(ProcessJoined, call.node, started=ref)
    return Known(True) if refs else None


def _set_start_method(walk: Walk, call: Call) -> Abstract:
    method = known(call.argument("method", 0))
    if isinstance(method, str):
        walk.start_method = method
    return NONE


def _get_context(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS, CONTEXT)


def _context_attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    return None if name == "Process" else External(f"multiprocessing.{name}")


def _meet(walk: Walk, call: Call) -> Abstract:
    """``multiprocessing.Barrier(n).wait()``: as many processes meet here, whether a group is initialised or not."""
    walk.emit(Collective, call.node, op="multiprocessing barrier")
    return Opaque("Barrier.wait()")


FUNCTIONS = {
    SPAWN: _spawn,
    "torch.multiprocessing.start_processes": _spawn,
    **dict.fromkeys(LAUNCHERS, _launched),
    "multiprocessing.Process": _process,
    "torch.multiprocessing.Process": _process,
    "torch.multiprocessing.set_start_method": _set_start_method,
    "multiprocessing.set_start_method": _set_start_method,
    "torch.multiprocessing.get_context": _get_context,
    "multiprocessing.get_context": _get_context,
}
METHODS = {
    **dict.fromkeys(
        ("multiprocessing.Barrier.wait", "torch.multiprocessing.Barrier.wait", f"{CONTEXT}.Barrier.wait"), _meet
    ),
    f"{CONTEXT}.Process": _process,
    "start": _start_process,
    "join": _join,
}
ATTRIBUTES = {CONTEXT: _context_attribute}

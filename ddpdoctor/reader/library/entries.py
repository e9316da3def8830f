"""Entry points that a library calls: fire, typer, click, hydra, absl, and decorators that run their function."""

import ast

from ddpdoctor.reader.abstract import Abstract, External
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.walk import Call, Walk

_RUN_FIRST = ("fire.Fire", "typer.run", "absl.app.run", "jsonargparse.CLI", "tyro.cli", "asyncio.run")


def _run_first(walk: Walk, call: Call) -> Abstract | None:
    function = call.args[0] if call.args else None
    if isinstance(function, (Function, Bound, Partial, Class)):
        return walk.call(function, call._replace(args=(), kwargs={}, open=True))
    return None


def decorate(walk: Walk, decorator: Abstract, value: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    """Return what a decorator from outside the project makes of a function: callable as it was.

    ``@atexit.register`` runs it at the end.
    """
    path = decorator.path if isinstance(decorator, (External, Made)) else ""
    if path == "atexit.register":
        walk.call(External(path), Call((value,), {}, node, frame))
    return value


def _identity(walk: Walk, call: Call) -> Abstract | None:
    """``torch.compile(model)``, ``record(main)``: what is given, callable as it was."""
    first = call.args[0] if call.args else None
    return first if isinstance(first, (Function, Bound, Partial, Object, Made)) else None


FUNCTIONS = {
    **dict.fromkeys(_RUN_FIRST, _run_first),
    "torch.compile": _identity,
    "torch.jit.script": _identity,
    "torch.distributed.elastic.multiprocessing.errors.record": _identity,
    "torch.cuda.amp.custom_fwd": _identity,
}

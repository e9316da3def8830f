"""Entry points that a library calls, and decorators that run their function, or on one rank only."""

import ast

from ddpdoctor.reader.abstract import Abstract, Attribute, External
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.library.commands import decorated
from ddpdoctor.reader.library.engines import decorated_handler
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.walk import Walk

_RUN_FIRST = ("typer.run", "absl.app.run", "jsonargparse.CLI", "tyro.cli", "asyncio.run")


def _run_first(walk: Walk, call: Call) -> Abstract | None:
    function = call.args[0] if call.args else None
    if isinstance(function, (Function, Bound, Partial, Class)):
        return walk.call(function, call._replace(args=(), kwargs={}, open=True))
    return None


def decorate(walk: Walk, decorator: Abstract, value: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    """Return what a decorator from outside the project makes of a function: callable as it was.

    ``@atexit.register`` runs it at the end, ``@register_model`` of timm has it made by its name.
    """
    path = decorator.path if isinstance(decorator, (External, Made)) else ""
    if path == "atexit.register" or path.startswith("timm.models."):
        walk.call(External(path), Call((value,), {}, node, frame))
    decorated_handler(walk, decorator, value)
    if _lets_one_rank_in(decorator) and isinstance(value, Function):
        value.on_first_rank = True
    return decorated(walk, decorator, value, node, frame)


def _lets_one_rank_in(decorator: Abstract) -> bool:
    """Whether a framework's decorator lets a function run on rank 0 only."""
    if isinstance(decorator, Attribute):
        receiver = decorator.receiver
        framework = isinstance(receiver, Made) and receiver.path.startswith("accelerate.")
        return framework and decorator.name in ("on_main_process", "on_local_main_process")
    if not isinstance(decorator, (External, Made)):
        return False
    return decorator.path.rpartition(".")[2] in FOR_RANK_ZERO and decorator.path.startswith(FRAMEWORKS)


FOR_RANK_ZERO = ("rank_zero_only", "master_only", "one_rank_only")
FRAMEWORKS = ("lightning.", "lightning_utilities.", "lightning_fabric.", "mmcv.", "mmengine.", "ignite.", "torchtnt.")


def _guarded(walk: Walk, call: Call) -> Abstract | None:
    """``rank_zero_only(function)``: called as a function, it gives the function for rank 0 only."""
    function = call.args[0] if len(call.args) == 1 and not call.kwargs else None
    if not isinstance(function, Function):
        return None
    guarded = Function(function.node, function.name, function.frame)
    guarded.owner, guarded.defaults = function.owner, function.defaults
    guarded.keyword_defaults, guarded.kind = function.keyword_defaults, function.kind
    guarded.on_first_rank = True
    return guarded


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
    **dict.fromkeys(
        (
            "lightning.utilities.rank_zero_only",
            "lightning.utilities.rank_zero.rank_zero_only",
            "lightning.utilities.distributed.rank_zero_only",
            "lightning_utilities.core.rank_zero.rank_zero_only",
            "mmcv.runner.master_only",
            "mmengine.dist.master_only",
        ),
        _guarded,
    ),
}

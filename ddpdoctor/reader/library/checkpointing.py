"""Activation checkpointing: which modules are computed again in the backward, and whether reentrantly."""

import ast

from ddpdoctor.events import ActivationCheckpoint
from ddpdoctor.reader.abstract import Abstract, Attribute, Items, Known, Opaque, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.objects import Bound, Made, Object, Partial
from ddpdoctor.reader.trees import root_name
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Constant, Ref


def _checkpoint(walk: Walk, call: Call) -> Abstract | None:
    """``checkpoint(function, *args)``: runs the function now, and again in the backward."""
    function = call.argument("function", 0)
    if function is None:
        return None
    reentrant = _is_reentrant(call)
    for _, option in options(function):
        module = _module_in(option)
        times = walk.checkpointed.get(module.ref, 0) + _rounds(walk, call) if module is not None else 0
        if module is not None:
            walk.checkpointed[module.ref] = times
        walk.emit(
            ActivationCheckpoint,
            call.node,
            reentrant=reentrant,
            model=None if module is None else module.ref,
            times=times,
        )
    own = ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop")
    kwargs = {name: value for name, value in call.kwargs.items() if name not in (*own, "function")}
    args = call.args if "function" in call.kwargs else call.args[1:]
    return walk.call(function, call._replace(args=args, kwargs=kwargs))


def _rounds(walk: Walk, call: Call) -> int:
    """How often a call is made here at least: 2 in a loop of which each round takes the same module of the object."""
    node = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    loop = walk.loops[-1] if walk.loops else None
    function = call.frame.function
    if loop is None or function is None or root_name(node) != "self":
        return 1
    own = loop.place.file == walk.file and function.node.lineno <= loop.place.line <= call.node.lineno  # type: ignore[attr-defined]
    return 2 if own and not (isinstance(loop.rounds, Constant) and loop.rounds.value == 1) else 1


def _checkpoint_sequential(walk: Walk, call: Call) -> Abstract | None:
    walk.emit(ActivationCheckpoint, call.node, reentrant=_is_reentrant(call))
    functions, given = call.argument("functions", 0), call.argument("input", 2)
    if functions is None or given is None:
        return None
    for one in functions.items if isinstance(functions, Items) else [functions]:
        if isinstance(one, (Made, Object)):
            given = walk.call_with(one, given, node=call.node)
    return given


def _is_reentrant(call: Call) -> bool | None:
    """Whether the call asks for reentrant checkpointing, which it does by default (torch 1.11 to 2.14 at least)."""
    given = call.kwargs.get("use_reentrant")
    if given is None:
        return None if call.open else True
    if isinstance(given, Opaque) and given.default is not None:
        given = given.default
    if isinstance(given, Known):
        return given.value is not False
    return None


def _module_in(function: Abstract) -> "Made | Object | None":
    """Return the module that a function computes with, where it is one or a method of one."""
    if isinstance(function, Partial):
        return _module_in(function.function)
    if isinstance(function, Bound) or (isinstance(function, Attribute) and function.name in ("forward", "__call__")):
        function = function.receiver
    return function if isinstance(function, (Made, Object)) and is_module(function) else None


def _enabled(walk: Walk, call: Call) -> Abstract | None:
    """``model.gradient_checkpointing_enable()`` of Hugging Face: reentrant unless its options say otherwise."""
    receiver = call.receiver
    ref = _ref_of(receiver)
    if ref is None:
        return None
    given = call.argument("gradient_checkpointing_kwargs", 0)
    reentrant: bool | None = True
    if given is not None and known(given, 0) is not None:
        cell = given.cells.get("use_reentrant") if isinstance(given, Table) else None
        reentrant = None if cell is None or not isinstance(cell[-1][1], Known) else cell[-1][1].value is not False
    walk.emit(ActivationCheckpoint, call.node, reentrant=reentrant, model=ref)
    return Known(None)


def _ref_of(value: Abstract | None) -> Ref | None:
    return value.ref if isinstance(value, (Made, Object)) else None


FUNCTIONS = {
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.utils.checkpoint.checkpoint_sequential": _checkpoint_sequential,
}
METHODS = {"gradient_checkpointing_enable": _enabled}

"""Ignite's ``ignite.distributed``: it starts the ranks, wraps the model and deals the data out by itself."""

from ddpdoctor.events import FrameworkOwns
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Known, Opaque, Table, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.library.frameworks import hand_over
from ddpdoctor.reader.library.groups import leaf_of
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

START = "ignite.distributed."
DUTIES = frozenset({"group", "sampler", "wrap", "device", "launch"})
_LEAVES = {
    "get_rank": "rank",
    "get_local_rank": "local_rank",
    "get_world_size": "world_size",
    "get_nproc_per_node": "local_world_size",
}


def _number(walk: Walk, call: Call) -> Abstract:
    leaf = _LEAVES[call.path.removeprefix(START)]
    return leaf_of(leaf.replace("_", " "), leaf, rank="world" not in leaf)


def _owner(walk: Walk, call: Call) -> Abstract:
    """``idist.Parallel(…)`` and ``idist.initialize(…)``: the group is Ignite's from here on."""
    walk.emit(FrameworkOwns, call.node, name=call.path, duties=DUTIES)
    return walk.make(call, NO_TAGS)


def _run(walk: Walk, call: Call) -> Abstract | None:
    """``parallel.run(function, …)``: the function gets its local rank first (ignite/distributed/launcher.py)."""
    function = call.argument("func", 0)
    if function is None:
        return None
    kwargs = {name: value for name, value in call.kwargs.items() if name != "func"}
    return walk.call(function, Call((_local_rank(), *call.args[1:]), kwargs, call.node, call.frame))


def _spawn(walk: Walk, call: Call) -> Abstract | None:
    """``idist.spawn(backend, fn, args, kwargs_dict)``: as ``Parallel.run``, in processes of its own."""
    function, given, named = call.argument("fn", 1), call.argument("args", 2), call.argument("kwargs_dict", 3)
    _owner(walk, call)
    if function is None:
        return None
    args = tuple(given.items) if isinstance(given, Items) else ()
    cells = named.cells.items() if isinstance(named, Table) else ()
    kwargs = {str(name): read(cell, walk.path) for name, cell in cells}
    walk.call(function, Call((_local_rank(), *args), kwargs, call.node, call.frame))
    return NONE


def _local_rank() -> Abstract:
    return leaf_of("local rank", "local_rank", rank=True)


def _model(walk: Walk, call: Call) -> Abstract | None:
    """``idist.auto_model(model, sync_bn=False)``: wraps it in DDP on several ranks (ignite/distributed/auto.py)."""
    model = call.argument("model", 0)
    if model is None:
        return None
    if not call.open and known(call.argument("sync_bn", 1) or Known(False), True) is False:
        hand_over(walk, call, Made(call.path, walk.ref(call.path, call.node), (), {}), model, hidden=True)
    return model


def _optimizer(walk: Walk, call: Call) -> Abstract | None:
    return call.argument("optimizer", 0)


def _loader(walk: Walk, call: Call) -> Abstract:
    """``idist.auto_dataloader(dataset, …)``: a loader with a sampler of Ignite's."""
    return Opaque(f"{call.path}()")


FUNCTIONS = {
    **dict.fromkeys((START + name for name in _LEAVES), _number),
    START + "Parallel": _owner,
    START + "initialize": _owner,
    START + "spawn": _spawn,
    START + "auto_model": _model,
    START + "auto_optim": _optimizer,
    START + "auto_dataloader": _loader,
}
METHODS = {START + "Parallel.run": _run}

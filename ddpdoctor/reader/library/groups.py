"""Process groups and collectives: torch.distributed, and what stands in for it."""

import ast

from ddpdoctor.condition import Literal, as_formula
from ddpdoctor.events import Collective, GroupAsked, GroupDestroyed, GroupInit
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    Attribute,
    Choice,
    External,
    Items,
    Known,
    Opaque,
    Table,
    Tags,
    is_none,
    known,
    options,
    put_together,
)
from ddpdoctor.reader.formulas import boolean, is_about
from ddpdoctor.reader.host import is_on_cpu
from ddpdoctor.reader.library.reports import in_order, numbers_of_batches, own_part
from ddpdoctor.reader.lowering import lower, lower_optional
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.paths import COLLECTIVES
from ddpdoctor.reader.ports import port_named
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Call, Walk
from ddpdoctor.value import UNKNOWN_VALUE, Ref, Value
from ddpdoctor.world import Expression

WORLD = frozenset(
    {"torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD", "torch.distributed._get_default_group()"}
)


def _whole(group: Abstract | None) -> bool:
    """Whether a ``group`` argument means the default group: not given, ``None`` or ``dist.group.WORLD``."""
    values = [value for _, value in options(group or NONE)]
    return all(is_none(value) or (isinstance(value, External) and value.path in WORLD) for value in values)


def _default_group(walk: Walk, call: Call) -> Abstract:
    return External(f"{call.path}()")


def _init(walk: Walk, call: Call) -> Abstract:
    backend = call.argument("backend", 0)
    device = call.argument("device_id")
    walk.grouped.add(walk.process)
    before = walk.path
    walk.path = frozenset(literal for literal in before if literal.holds or not _is_about_group(literal))
    walk.emit(
        GroupInit,
        call.node,
        backend=UNKNOWN_VALUE if backend is None and call.open else lower(backend or NONE),
        init_method=lower_optional(call.argument("init_method", 1)),
        port=lower_optional(port_named(call.argument("init_method", 1)) or port_named(call.argument("store", 5))),
        world_size=_given(call, "world_size", 3),
        group_rank=_given(call, "rank", 4),
        device=lower_optional(device),
        store=not is_none(call.argument("store", 5)) or call.open,
    )
    walk.path = before
    return NONE


def _is_about_group(literal: Literal) -> bool:
    """Whether a literal asks for a group: where one is made since there is none, there is one from then on."""
    expression = literal.atom.expression
    return expression is not None and expression.operator == "initialized"


def _given(call: Call, name: str, position: int) -> Value | None:
    """Return an argument, ``None`` where it is certainly not given: ``**`` of something unknown may hold it."""
    value = call.argument(name, position)
    return UNKNOWN_VALUE if value is None and call.open else lower_optional(value)


def _destroy(walk: Walk, call: Call) -> Abstract:
    group = call.argument("group", 0)
    if _whole(group):
        walk.emit(GroupDestroyed, call.node)
    return NONE


def _ask(walk: Walk, call: Call) -> None:
    """Note that the default group is asked for, where no call before can have made it."""
    if walk.process not in walk.grouped:
        walk.emit(GroupAsked, call.node, by=call.path.rpartition(".")[2])


def _get_rank(walk: Walk, call: Call) -> Abstract:
    if not _whole(call.argument("group", 0)):
        return Opaque("rank in a group", frozenset({"rank"}), origin="rank")
    _ask(walk, call)
    return Opaque("rank", frozenset({"rank"}), origin="rank", expression=Expression("rank"))


def _leaf(name: str, leaf: str, *, rank: bool) -> Opaque:
    return Opaque(
        name,
        frozenset({"rank" if rank else "world"}),
        origin="rank" if rank else "other",
        expression=Expression(leaf),
    )


def _local_rank(walk: Walk, call: Call) -> Abstract:
    return _leaf("local rank", "local_rank", rank=True)


def _world_size(walk: Walk, call: Call) -> Abstract:
    if not _whole(call.argument("group", 0)):
        return Opaque("size of a group", frozenset({"world"}))
    _ask(walk, call)
    return _leaf("world size", "world_size", rank=False)


def _initialized(walk: Walk, call: Call) -> Abstract:
    return boolean(walk.literal("torch.distributed is initialised", "world", Expression("initialized"), call.node))


def _available(walk: Walk, call: Call) -> Abstract:
    return Known(True)


def _torchelastic(walk: Walk, call: Call) -> Abstract:
    has = Expression("environment_has", ("TORCHELASTIC_RUN_ID",))
    return boolean(walk.literal("torchrun launched this", "world", has, call.node))


RESULT_ONLY = frozenset({"barrier", "monitored_barrier"})
UNIFORM_IN_PLACE = frozenset(
    {"all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "broadcast_object_list"}
)


def _collective(walk: Walk, call: Call) -> Abstract:
    op = call.path.rpartition(".")[2]
    group = call.argument("group", _group_position(call.path))
    devices = call.argument("device_ids", 2) if op == "barrier" else None
    walk.emit(
        Collective,
        call.node,
        op=op,
        group=None if _whole(group) else lower_optional(group),
        device=None if is_none(devices) else lower_optional(devices),
        on_cpu=any(map(is_on_cpu, call.given())),
        loaders=_brought(call),
    )
    if op in RESULT_ONLY:
        return NONE
    result = _uniform(call.flow(), "sum" if "reduce" in op else "gather")
    how = "sum" if "reduce" in op else "gather"
    written = next((value for value in map(call.kwargs.get, _WRITTEN_BY_NAME) if value is not None), None)
    if written is None:
        written = call.argument("", 1 if op in ("gather", "gather_object") else 0)
    if written is not None:
        (make_uniform if op in UNIFORM_IN_PLACE else make_whole)(written, how)
        if op in UNIFORM_IN_PLACE:
            _replace_what_ranks_held(walk, call, written)
    return Opaque(f"{op}()", result)


def _replace_what_ranks_held(walk: Walk, call: Call, value: Abstract) -> None:
    """Give a variable of which ranks held different values the one that a collective wrote over them."""
    name = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    if not isinstance(value, Choice) or not isinstance(name, ast.Name):
        return
    if any(is_about(as_formula(when), kind) for when, _ in value.options for kind in ("rank", "data")):
        whole = Opaque(f"what came instead of {text(value)}", _uniform(value.tags, "gather"))
        assign(walk, ast.Name(name.id, ast.Store()), whole, call.frame)


def _uniform(tags: Tags, how: str) -> Tags:
    """Return the tags of what is the same on every rank."""
    return frozenset(tag for tag in put_together(tags, how) if tag not in ("data", "rank"))


def _brought(call: Call) -> tuple[Ref, ...]:
    """Return the loaders from whose batches a rank computed what it brings to a collective."""
    return in_order({ref for value in call.given() for _, tags in numbers_of_batches(value) for ref in own_part(tags)})


_WRITTEN_BY_NAME = ("gather_list", "object_gather_list", "tensor_list", "object_list", "output_tensor", "tensor")
"""The arguments that a collective writes its result to."""


def _group_position(path: str) -> int:
    """Return where a collective takes its group by position (torch 2.0 to 2.14)."""
    op = path.rpartition(".")[2]
    if path.startswith(DIFFERENTIABLE):
        return _DIFFERENTIABLE_POSITION.get(op, _GROUP_POSITION.get(op, 2))
    return _GROUP_POSITION.get(op, 2)


_GROUP_POSITION = {
    **dict.fromkeys(("barrier", "monitored_barrier"), 0),
    **dict.fromkeys(("reduce", "gather", "gather_object", "scatter", "scatter_object_list"), 3),
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_tensor", "_reduce_scatter_base", "reduce_multigpu"), 3),
    "all_to_all_single": 4,
}
"""The others take it third."""
DIFFERENTIABLE = "torch.distributed.nn."
_DIFFERENTIABLE_POSITION = {"all_gather": 1, "gather": 2, "scatter": 2}
"""The functions that gradients pass through take their tensors in other ways (torch/distributed/nn/functional.py)."""


def make_uniform(value: Abstract, how: str = "gather") -> None:
    """Note that a collective gave every rank the same value: it is rank-local no longer."""
    make_whole(value, how)
    if isinstance(value, (Opaque, Made)):
        value.tags = _uniform(value.tags, how)
    elif isinstance(value, Items):
        value.extra = _uniform(value.extra, how)
        for i, item in enumerate(value.items):
            if isinstance(item, (Choice, Table)):  # of which the ranks held different ones, or some of it
                value.items[i] = Opaque(f"what came instead of {text(item)}")
            make_uniform(item, how)


def make_whole(value: Abstract, how: str) -> None:
    """Note that a collective put a value together from those of all ranks, on one of them at least."""
    if isinstance(value, (Opaque, Made, Choice)):
        value.tags = put_together(value.tags, how)
    if isinstance(value, (Opaque, Made)):
        for name in [name for name in value.attributes if isinstance(name, tuple) and name[0] == "item"]:
            del value.attributes[name]
    elif isinstance(value, Attribute):
        make_whole(value.receiver, how)  # ``all_reduce(loss.data)``
        value.tags = put_together(value.tags, how)
    elif isinstance(value, (Choice, Items)):
        parts = [option for _, option in options(value)] if isinstance(value, Choice) else value.items
        for part in parts:
            make_whole(part, how)
    if isinstance(value, (Items, Table)):
        value.extra = put_together(value.extra, how)


def _new_group(walk: Walk, call: Call) -> Abstract:
    _ask(walk, call)
    return walk.make(call, frozenset({"group"}))


def _accelerate_collective(walk: Walk, call: Call) -> Abstract | None:
    """Collectives that are methods of a framework's object: not when a project's own object has them."""
    if not isinstance(call.receiver, Made) or not call.receiver.path.startswith(("accelerate.", "lightning.")):
        return None
    walk.emit(Collective, call.node, op=call.path.rpartition(".")[2])
    return Opaque(call.path, _uniform(call.flow(), "sum" if "reduce" in call.path else "gather"))


def _backend(walk: Walk, call: Call) -> Abstract:
    if _whole(call.argument("group", 0)):
        _ask(walk, call)
    return Opaque("backend", frozenset({"world"}))


def _default_backend(walk: Walk, call: Call) -> Abstract:
    """Return ``get__default_backend_for_device``'s answer: computed, so never a mistake."""
    return Opaque("the device's backend", frozenset({"world"}))


def _mpi_rank(walk: Walk, call: Call) -> Abstract:
    return _leaf("MPI rank", "rank", rank=True)


def _mpi_size(walk: Walk, call: Call) -> Abstract:
    return _leaf("MPI size", "world_size", rank=False)


_COMMUNICATORS = ("mpi4py.MPI.COMM_WORLD",)
_MPI_COLLECTIVES = [
    "bcast",
    "Bcast",
    "allreduce",
    "Allreduce",
    "allgather",
    "Allgather",
    "gather",
    "Gather",
    "reduce",
    "Reduce",
    "scatter",
    "Scatter",
]


def _mpi_collective(walk: Walk, call: Call) -> Abstract:
    """A collective of MPI: every rank has to call it as well, and gets the same."""
    walk.emit(Collective, call.node, op=f"MPI {call.path.rpartition('.')[2]}")
    return Opaque(call.path, _uniform(call.flow(), "sum" if "reduce" in call.path else "gather"))


FUNCTIONS = {
    **{f"{name}.Get_rank": _mpi_rank for name in _COMMUNICATORS},
    **{f"{name}.Get_size": _mpi_size for name in _COMMUNICATORS},
    **{f"{name}.{op}": _mpi_collective for name in _COMMUNICATORS for op in _MPI_COLLECTIVES},
    "torch.distributed.init_process_group": _init,
    "torch.distributed.destroy_process_group": _destroy,
    "torch.distributed.get_rank": _get_rank,
    "torch.distributed.get_node_local_rank": _local_rank,
    "torch.distributed.get_world_size": _world_size,
    "torch.distributed.is_initialized": _initialized,
    "torch.distributed.is_available": _available,
    "torch.distributed.is_nccl_available": _available,
    "torch.distributed.is_torchelastic_launched": _torchelastic,
    "torch.distributed.new_group": _new_group,
    "torch.distributed.get_backend": _backend,
    "torch.distributed.get__default_backend_for_device": _default_backend,
    **{f"torch.distributed.{name}": _collective for name in COLLECTIVES},
    **{f"{DIFFERENTIABLE}{name}": _collective for name in COLLECTIVES},
    "torch.distributed._get_default_group": _default_group,
}


def _metric_computed(walk: Walk, call: Call) -> Abstract | None:
    """``metric.compute()`` of torchmetrics gathers over the ranks (``sync_on_compute`` is true by default)."""
    receiver = call.receiver
    if not isinstance(receiver, Made) or not receiver.path.startswith("torchmetrics."):
        return None
    if known(receiver.kwargs.get("sync_on_compute"), True) is not False:
        walk.emit(Collective, call.node, op="compute")
    return Opaque("metric")


METHODS = {
    "compute": _metric_computed,
    "wait_for_everyone": _accelerate_collective,
    **dict.fromkeys(["gather_for_metrics", "gather", "reduce", "all_reduce", "all_gather"], _accelerate_collective),
}

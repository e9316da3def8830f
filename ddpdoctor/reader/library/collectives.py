"""Collectives: what each rank brings, and what all have afterwards."""

import ast

from ddpdoctor.condition import as_formula
from ddpdoctor.events import Collective
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    Attribute,
    Choice,
    Items,
    Known,
    Opaque,
    Table,
    Truth,
    clipped,
    is_none,
    known,
    options,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.decided import decided
from ddpdoctor.reader.formulas import is_about
from ddpdoctor.reader.host import is_on_cpu
from ddpdoctor.reader.library.by_hand import note_replica
from ddpdoctor.reader.library.groups import is_whole
from ddpdoctor.reader.library.hooks import is_lightning_module
from ddpdoctor.reader.library.reports import in_order, numbers_of_batches, own_part
from ddpdoctor.reader.lowering import lower_optional
from ddpdoctor.reader.names import assign
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.paths import COLLECTIVES
from ddpdoctor.reader.tags import LOCAL, Tags, put_together
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

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
        group=None if is_whole(group) else lower_optional(group),
        device=None if is_none(devices) else lower_optional(devices),
        on_cpu=any(map(is_on_cpu, call.given())),
        loaders=_brought(call),
        **decided(walk),
    )
    if op in RESULT_ONLY:
        return NONE
    note_replica(walk, call, op)
    how = way_of(op)
    result = uniform(call.flow(), how)
    written = next((value for value in map(call.kwargs.get, _WRITTEN_BY_NAME) if value is not None), None)
    if written is None:
        written = call.argument("", 1 if op in ("gather", "gather_object") else 0)
    if written is not None:
        (make_uniform if op in UNIFORM_IN_PLACE else make_whole)(written, how)
        _fill(written, frozenset(tag for tag in result if isinstance(tag, tuple) and tag[0] == "pooled"))
        if op in UNIFORM_IN_PLACE:
            _replace_what_ranks_held(walk, call, written)
    return Opaque(f"{op}()", result)


def _fill(value: Abstract, pooled: Tags) -> None:
    """Note what a collective has put together in the tensors that it was given to write to."""
    if isinstance(value, Items):
        value.extra |= pooled
        for item in value.items:
            _fill(item, pooled)
    elif isinstance(value, (Opaque, Made)):
        value.tags |= pooled


def _replace_what_ranks_held(walk: Walk, call: Call, value: Abstract) -> None:
    """Give a variable of which ranks held different values the one that a collective wrote over them."""
    target = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    if not isinstance(value, Choice) or not isinstance(target, (ast.Name, ast.Attribute)):
        return
    if any(is_about(as_formula(when), kind) for when, _ in value.options for kind in ("rank", "data")):
        whole = Opaque(f"what came instead of {text(value)}", uniform(value.tags, "gather"))
        assign(walk, target, whole, call.frame)


def way_of(op: str) -> str:
    """Return how a collective puts together what the ranks bring: as a ``sum``, or side by side (``gather``)."""
    return "sum" if "reduce" in op else "gather"


def uniform(tags: Tags, how: str) -> Tags:
    """Return the tags of what is the same on every rank."""
    return frozenset(tag for tag in put_together(tags, how) if tag not in OF_ONE_RANK)


OF_ONE_RANK = LOCAL | {"data", "rank"}
"""What touched a value that each rank has for itself."""


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


OF_ALL = " of all ranks"
"""What the name of a value ends in that a collective has written."""


def make_uniform(value: Abstract, how: str = "gather") -> None:
    """Note that a collective gave every rank the same value: it is rank-local no longer."""
    make_whole(value, how)
    if isinstance(value, (Opaque, Made)):
        value.tags = uniform(value.tags, how)
    if isinstance(value, Opaque) and not value.name.endswith(OF_ALL):
        value.name = clipped(f"({value.name}){OF_ALL}")
    elif isinstance(value, Choice):
        for _, option in value.options:
            if isinstance(option, Opaque):
                make_uniform(option, how)
    elif isinstance(value, Items):
        value.extra = uniform(value.extra, how)
        for i, item in enumerate(value.items):
            if isinstance(item, (Choice, Known, Table, Truth)):  # of which the ranks held different ones, or some of it
                value.items[i] = Opaque(f"what came instead of {text(item)}")
            make_uniform(item, how)


def make_whole(value: Abstract, how: str) -> None:
    """Note that a collective put a value together from those of all ranks, on one of them at least."""
    if isinstance(value, (Opaque, Made, Choice)):
        value.tags = put_together(value.tags, how)
    if isinstance(value, Opaque) and value.viewed is not None:
        make_whole(value.viewed, how)
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


def _received(walk: Walk, call: Call) -> Abstract | None:
    """``dist.recv(tensor)``: the tensor holds what another rank has sent."""
    tensor = call.argument("tensor", 0)
    if tensor is not None:
        make_uniform(tensor)
    return None


def _accelerate_collective(walk: Walk, call: Call) -> Abstract | None:
    """Collectives that are methods of a framework's object: not when a project's own object has them."""
    op = call.path.rpartition(".")[2]
    if op == "all_gather" and call.receiver is not None and is_lightning_module(call.receiver):
        walk.emit(Collective, call.node, op=op, loaders=_brought(call), **decided(walk))
        return Opaque(call.path, uniform(call.flow(), way_of(op)))
    if not isinstance(call.receiver, Made) or not call.receiver.path.startswith(("accelerate.", "lightning.")):
        return None
    walk.emit(Collective, call.node, op=op, loaders=_brought(call), **decided(walk))
    padded = op == "gather" and call.receiver.path.startswith("accelerate.")
    return Opaque(call.path, uniform(call.flow(), "padded" if padded else way_of(call.path)))


def _metric_computed(walk: Walk, call: Call) -> Abstract | None:
    """``metric.compute()`` of torchmetrics gathers over the ranks (``sync_on_compute`` is true by default)."""
    receiver = call.receiver
    if not isinstance(receiver, Made) or not receiver.path.startswith("torchmetrics."):
        return None
    if known(receiver.kwargs.get("sync_on_compute"), True) is not False:
        walk.emit(Collective, call.node, op="compute", **decided(walk))
    return Opaque("metric")


FUNCTIONS = {
    **dict.fromkeys(("torch.distributed.recv", "torch.distributed.irecv"), _received),
    **{f"torch.distributed.{name}": _collective for name in COLLECTIVES},
    **{f"{DIFFERENTIABLE}{name}": _collective for name in COLLECTIVES},
}
METHODS = {
    "compute": _metric_computed,
    "wait_for_everyone": _accelerate_collective,
    **dict.fromkeys(["gather_for_metrics", "gather", "reduce", "all_reduce", "all_gather"], _accelerate_collective),
}

"""Calls that every rank has to make though their names do not say so: collectives stand inside of them."""

from collections.abc import Callable

from ddpdoctor.events import Collective
from ddpdoctor.reader.abstract import NONE, Abstract, External, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.decided import decided
from ddpdoctor.reader.library.groups import is_whole
from ddpdoctor.reader.library.modules import state_dict
from ddpdoctor.reader.lowering import lower_optional
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
CHECKPOINT = "torch.distributed.checkpoint."
SHARDED = "(its parameters are sharded)"
"""The hidden attribute of a module that ``fully_shard`` was called on."""
DIVIDING = ("FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2")
"""The strategies with which the ranks of FSDP gather a state from each other; with ``NO_SHARD`` each has it whole."""


def _emit(walk: Walk, call: Call, op: str = "", group: Abstract | None = None) -> None:
    walk.emit(
        Collective,
        call.node,
        op=op or call.path.rpartition(".")[2],
        origin="within",
        group=None if is_whole(group) else lower_optional(group),
        **decided(walk),
    )


def _waits(walk: Walk, call: Call) -> Abstract | None:
    """A framework's method that has a barrier in it: ``fabric.save(…)``, ``trainer.save_checkpoint(…)``."""
    _emit(walk, call)
    return None


def _checkpoint(walk: Walk, call: Call) -> Abstract | None:
    """``dcp.save(state)``: the ranks' plans are gathered (checkpoint/utils.py: ``_DistWrapper``)."""
    alone = call.argument("no_dist")
    if not call.open and (alone is None or known(alone, None) is False):
        _emit(walk, call, group=call.argument("process_group"))
    return None


def _consolidated(walk: Walk, call: Call) -> Abstract | None:
    """``optimizer.consolidate_state_dict()``: every rank broadcasts its part (optim/zero_redundancy_optimizer.py)."""
    if isinstance(call.receiver, Made) and call.receiver.path.endswith((".ZeroRedundancyOptimizer", ".OSS")):
        _emit(walk, call)
    return None


def _engine_saves(walk: Walk, call: Call) -> Abstract | None:
    """``engine.save_checkpoint(…)`` of DeepSpeed: there are barriers in it (deepspeed/runtime/engine.py)."""
    if call.receiver is not None and text(call.receiver).startswith("deepspeed.initialize"):
        _emit(walk, call)
    return None


def _is_sharded(model: Abstract | None) -> bool:
    """Whether FSDP certainly divides a model's parameters among the ranks."""
    found = [option for _, option in options(model or NONE)]
    return bool(found) and all(isinstance(one, Made) and one.path == FSDP and _divides(one) for one in found)


def _divides(wrapper: Made) -> bool:
    way = wrapper.kwargs.get("sharding_strategy")
    named = isinstance(way, External) and way.path.rpartition(".")[2] in DIVIDING
    return not wrapper.open and (way is None or is_none(way) or named)


def _state_dict(walk: Walk, call: Call) -> Abstract | None:
    """``model.state_dict()`` of FSDP: the parameters are gathered, whichever form they are asked for in but one.

    torch/distributed/fsdp/_state_dict_utils.py: ``_common_unshard_pre_state_dict_hook``.
    """
    if _is_sharded(call.receiver):
        _emit(walk, call)
    return state_dict(walk, call)


def _state_of_shards(walk: Walk, call: Call) -> Abstract | None:
    """``FSDP.optim_state_dict(model, optimizer)`` and its like."""
    if _is_sharded(call.argument("model", 0)):
        _emit(walk, call)
    return None


def _asked_for_state(walk: Walk, call: Call) -> Abstract | None:
    """``get_model_state_dict(model, options=…)``: gathered where the model is sharded, and by FSDP2 only in full."""
    model = call.argument("model", 0)
    how = call.argument("options")
    full = isinstance(how, Made) and known(how.kwargs.get("full_state_dict"), None) is True
    marked = isinstance(model, (Made, Object)) and SHARDED in model.attributes
    if _is_sharded(model) or (marked and full):
        _emit(walk, call)
    return None


def _sharded(walk: Walk, call: Call) -> Abstract | None:
    """``fully_shard(module)``: its parameters are divided from now on, in place."""
    module = call.argument("module", 0)
    if isinstance(module, (Made, Object)):
        write(module.attributes, SHARDED, walk.path, NONE)
    return None


_FABRICS = ("lightning.Fabric", "lightning.fabric.Fabric", "lightning.fabric.fabric.Fabric", "lightning_fabric.Fabric")
_TRAINERS = ("lightning.Trainer", "lightning.trainer.Trainer")
_MODEL: dict[str, Callable[[Walk, Call], Abstract | None]] = {
    **{f"{FSDP}.{name}": _state_of_shards for name in ("optim_state_dict", "full_optim_state_dict")},
    **{f"{FSDP}.{name}": _state_of_shards for name in ("sharded_optim_state_dict", "scatter_full_optim_state_dict")},
}
FUNCTIONS = {
    **{
        f"{CHECKPOINT}{name}": _checkpoint
        for name in ("save", "load", "async_save", "save_state_dict", "load_state_dict")
    },
    **{
        f"{CHECKPOINT}state_dict.{name}": _asked_for_state
        for name in ("get_model_state_dict", "get_optimizer_state_dict", "get_state_dict")
    },
    **_MODEL,
    "torch.distributed.fsdp.fully_shard": _sharded,
    "torch.distributed._composable.fsdp.fully_shard": _sharded,
}
METHODS = {
    "consolidate_state_dict": _consolidated,
    f"{FSDP}.state_dict": _state_dict,
    "save_checkpoint": _engine_saves,
    **{f"{fabric}.{name}": _waits for fabric in _FABRICS for name in ("barrier", "save", "load", "broadcast")},
    **{f"{trainer}.save_checkpoint": _waits for trainer in _TRAINERS},
}

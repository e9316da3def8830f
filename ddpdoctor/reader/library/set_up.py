"""Functions of mmcv and timm that select the device and initialise the group by what the launcher says."""

from ddpdoctor.events import CudaTouched, DeviceSelected, EnvRead
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Known, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.formulas import boolean, by_default
from ddpdoctor.reader.library.frameworks import rank_flag
from ddpdoctor.reader.library.groups import leaf_of, made_by_launcher
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression


def _init_dist(walk: Walk, call: Call) -> Abstract:
    """``init_dist(launcher, backend="nccl", **kwargs)``: always, and with the node's own rank as the device.

    Source: mmcv/runner/dist_utils.py (1.x), mmengine/dist/utils.py.
    """
    _select_device(walk, call)
    made_by_launcher(walk, call, call.argument("backend", 1) or Known("nccl"))
    return NONE


def _init_distributed_device(walk: Walk, call: Call) -> Abstract:
    """``init_distributed_device(args)``: where there are several ranks, and says so in ``args``.

    Source: timm/utils/distributed.py.
    """
    args = call.argument("args", 0)
    several = Expression("<", (Expression("constant", (1,)), Expression("world_size")))
    launched = walk.literal("1 < world size", "world", several, call.node)
    before, here = walk.path, walk.assuming(launched)
    if here is not None:
        walk.path = here
        _select_device(walk, call)
        backend = walk.get(args, "dist_backend", call.node) if args is not None else NONE
        made_by_launcher(walk, call, backend if isinstance(known(by_default(backend)), str) else Known("nccl"))
        walk.path = before
    if args is not None:
        walk.set(args, "distributed", boolean(launched), call.node)
        for name in ("rank", "local_rank", "world_size"):
            walk.set(args, name, leaf_of(name.replace("_", " "), name, rank=name != "world_size"), call.node)
    return walk.make(call, frozenset({"rank"}), "torch.device")


def _select_device(walk: Walk, call: Call) -> None:
    """Record what the launcher's variables decide here: no option has to say which rank this is."""
    for name in ("RANK", "LOCAL_RANK"):
        walk.emit(EnvRead, call.node, name=name)
    walk.emit(CudaTouched, call.node, by=call.path)
    own = leaf_of("local rank", "local_rank", rank=True)
    walk.emit(DeviceSelected, call.node, index=lower(own), how=call.path)


def _dist_info(walk: Walk, call: Call) -> Abstract:
    """``rank, world_size = get_dist_info()``."""
    return Items(_numbers(), "tuple")


def _info_from_environment(walk: Walk, call: Call) -> Abstract:
    """``local_rank, rank, world_size = world_info_from_env()``."""
    own = leaf_of("local rank", "local_rank", rank=True)
    return Items([own, *_numbers()], "tuple")


def _is_primary(walk: Walk, call: Call) -> Abstract | None:
    """``is_primary(args, local=False)``, and the two that it calls: whether this is rank 0, or its node's first one."""
    local = call.path.endswith("is_local_primary") or known(by_default(call.argument("local", 1) or NONE)) is True
    return rank_flag(walk, "is_local_zero" if local else "is_global_zero", call.node)


def _numbers() -> list[Abstract]:
    return [leaf_of("rank", "rank", rank=True), leaf_of("world size", "world_size", rank=False)]


_OF_MM = ("mmcv.runner", "mmcv.runner.dist_utils", "mmengine.dist", "mmengine.dist.utils")
_OF_TIMM = ("timm.utils", "timm.utils.distributed")
FUNCTIONS = {
    **{f"{home}.init_dist": _init_dist for home in _OF_MM},
    **{f"{home}.get_dist_info": _dist_info for home in _OF_MM},
    **{f"{home}.init_distributed_device": _init_distributed_device for home in _OF_TIMM},
    **{f"{home}.world_info_from_env": _info_from_environment for home in _OF_TIMM},
    **{
        f"{home}.{name}": _is_primary
        for home in _OF_TIMM
        for name in ("is_primary", "is_global_primary", "is_local_primary")
    },
}

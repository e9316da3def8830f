"""Process groups and collectives: torch.distributed, and what stands in for it."""

from ddpdoctor.condition import asks_for_group
from ddpdoctor.events import GroupAsked, GroupDestroyed, GroupInit, SubgroupMade
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    External,
    Known,
    Opaque,
    is_none,
    known,
    options,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.decided import decided
from ddpdoctor.reader.formulas import boolean
from ddpdoctor.reader.lowering import lower, lower_optional
from ddpdoctor.reader.ports import port_named
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import UNKNOWN_VALUE, Value
from ddpdoctor.world import Expression

WORLD = frozenset(
    {"torch.distributed.group.WORLD", "torch.distributed.GroupMember.WORLD", "torch.distributed._get_default_group()"}
)


def is_whole(group: Abstract | None) -> bool:
    """Whether a ``group`` argument means the default group: not given, ``None`` or ``dist.group.WORLD``."""
    values = [value for _, value in options(group or NONE)]
    return all(is_none(value) or (isinstance(value, External) and value.path in WORLD) for value in values)


def _default_group(walk: Walk, call: Call) -> Abstract:
    return External(f"{call.path}()")


def _init(walk: Walk, call: Call) -> Abstract:
    backend = call.argument("backend", 0)
    device = call.argument("device_id")
    walk.grouped.add(walk.process)
    _is_told(call.argument("world_size", 3), leaf_of("world size", "world_size", rank=False))
    _is_told(call.argument("rank", 4), leaf_of("rank", "rank", rank=True))
    before = walk.path
    # where a group is made since there is none, there is one from then on
    walk.path = frozenset(literal for literal in before if literal.holds or not asks_for_group(literal))
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


def made_by_launcher(walk: Walk, call: Call, backend: Abstract) -> None:
    """Record that a library's function initialises the group, with what the launcher says in the environment."""
    _init(walk, call._replace(args=(), kwargs={"backend": backend}, open=False))


def _is_told(value: Abstract | None, what: Opaque) -> None:
    """Take a number of which nothing else is known for what the group is told that it is."""
    if isinstance(value, Opaque) and value.expression is None:
        value.expression, value.tags = what.expression, value.tags | what.tags | {"guessed"}


def _given(call: Call, name: str, position: int) -> Value | None:
    """Return an argument, ``None`` where it is certainly not given: ``**`` of something unknown may hold it."""
    value = call.argument(name, position)
    return UNKNOWN_VALUE if value is None and call.open else lower_optional(value)


def _destroy(walk: Walk, call: Call) -> Abstract:
    group = call.argument("group", 0)
    if is_whole(group):
        walk.emit(GroupDestroyed, call.node)
    return NONE


def _ask(walk: Walk, call: Call) -> None:
    """Note that the default group is asked for, where no call before can have made it."""
    if walk.process not in walk.grouped:
        walk.emit(GroupAsked, call.node, by=call.path.rpartition(".")[2])


def _get_rank(walk: Walk, call: Call) -> Abstract:
    if not is_whole(call.argument("group", 0)):
        return Opaque("rank in a group", frozenset({"rank"}), origin="rank")
    _ask(walk, call)
    return Opaque("rank", frozenset({"rank"}), origin="rank", expression=Expression("rank"))


def leaf_of(name: str, leaf: str, *, rank: bool) -> Opaque:
    """Return a number that each rank knows from its launcher: its own place, or how many there are."""
    return Opaque(
        name,
        frozenset({"rank" if rank else "world"}),
        origin="rank" if rank else "other",
        expression=Expression(leaf),
    )


def _local_rank(walk: Walk, call: Call) -> Abstract:
    return leaf_of("local rank", "local_rank", rank=True)


def _world_size(walk: Walk, call: Call) -> Abstract:
    if not is_whole(call.argument("group", 0)):
        return Opaque("size of a group", frozenset({"world"}))
    _ask(walk, call)
    return leaf_of("world size", "world_size", rank=False)


def _initialized(walk: Walk, call: Call) -> Abstract:
    return boolean(walk.literal("torch.distributed is initialised", "world", Expression("initialized"), call.node))


def _available(walk: Walk, call: Call) -> Abstract:
    return Known(True)


def _torchelastic(walk: Walk, call: Call) -> Abstract:
    has = Expression("environment_has", ("TORCHELASTIC_RUN_ID",))
    return boolean(walk.literal("torchrun launched this", "world", has, call.node))


def _new_group(walk: Walk, call: Call) -> Abstract:
    _ask(walk, call)
    alone = call.argument("use_local_synchronization", 4)
    if not call.open and (alone is None or known(alone, None) is False):
        walk.emit(SubgroupMade, call.node, **decided(walk))
    return walk.make(call, frozenset({"group"}))


def _backend(walk: Walk, call: Call) -> Abstract:
    if is_whole(call.argument("group", 0)):
        _ask(walk, call)
    return Opaque("backend", frozenset({"world"}))


def _default_backend(walk: Walk, call: Call) -> Abstract:
    """Return ``get__default_backend_for_device``'s answer: computed, so never a mistake."""
    return Opaque("the device's backend", frozenset({"world"}))


FUNCTIONS = {
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
    "torch.distributed._get_default_group": _default_group,
}

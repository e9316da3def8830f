"""The global rank, taken as the number of a GPU: right on one node, and on no other."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import MAIN, DeviceSelected, DeviceUsed
from ddpdoctor.facts import in_group, is_distributed, owned, starts_its_ranks
from ddpdoctor.facts.gpus import index_on, indices, named, sees_its_own_gpus
from ddpdoctor.facts.launch import meets_on_one_node
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Value, alternatives
from ddpdoctor.world import WORLDS, Member

SEVERAL_NODES = [world for world in WORLDS.values() if world[-1].node]
SHOWN = 5
"""How many further places a finding names."""


def rank_counts_gpus_of_other_nodes(trace: Predicted) -> Iterator[Fault]:
    """Find indices that go on counting where the second node begins anew, and report them once."""
    if not (is_distributed(trace) or owned(trace, "group")):
        return
    found = [event for event in named(trace) if _is_global(trace, event)]
    if not found:
        return
    first = found[0]
    others = {event.place.spot(): event for event in found if event.place.spot() != first.place.spot()}
    member = _beyond(first)
    assert member is not None
    yield Fault(
        place=first.place,
        message=(
            f"the global rank is taken as the GPU's number: on a second node of {member.local_world_size} GPUs rank "
            f"{member.rank} asks for GPU {member.rank}, which is not there (invalid device ordinal)"
        ),
        places=tuple(Label(place=event.place, text="here too") for event in list(others.values())[:SHOWN]),
        event=first,
        fix=Fix(description='use the rank on the node: int(os.environ["LOCAL_RANK"]), or rank % device_count()'),
    )


def _is_global(trace: Predicted, event: DeviceSelected | DeviceUsed) -> bool:
    if sees_its_own_gpus(trace, event.process) or _beyond(event) is None:
        return False
    return not _one_node(trace, event)


def _beyond(event: DeviceSelected | DeviceUsed) -> Member | None:
    """Return the first rank whose own number is the index, where its node has no GPU of that number."""
    assert event.index is not None
    for world in SEVERAL_NODES:
        for when, value in alternatives(event.index, event.when):
            numbers = [(member, index) for member, index in indices(value, when, world) if index is not None]
            if any(index != member.rank for member, index in numbers):
                continue  # it is something else, though the number is a rank's by chance: LOCAL_RANK + 2, say
            for member, _ in numbers:
                if member.rank >= member.local_world_size:
                    return member
    return None


def _one_node(trace: Predicted, event: DeviceSelected | DeviceUsed) -> bool:
    """Whether there is one node only: the ranks are numbered by their index on it, or meet where no other finds them.

    Nor is who starts the ranks one of them.
    """
    own = starts_its_ranks(trace)
    inits = list(in_group(trace, event))
    if own and event.process == MAIN and not inits:
        return True
    return any(_is_local(init.group_rank, otherwise=own) or meets_on_one_node(trace, init) for init in inits)


def _is_local(rank: Value | None, *, otherwise: bool) -> bool:
    """Whether a number that a rank gives itself begins anew on each node; ``otherwise`` where it is not known."""
    if rank is None:
        return otherwise
    numbers = [
        (member, index_on(value, member))
        for _, value in alternatives(rank)
        if not isinstance(value, Constant)  # the one rank of a run that is not distributed
        for world in SEVERAL_NODES
        for member in world
    ]
    if any(index == member.rank >= member.local_world_size for member, index in numbers):
        return False
    return otherwise or any(index is not None for _, index in numbers)


CHECK = Check(
    name="global-rank-as-device",
    summary="the global rank is taken as the number of a GPU: wrong on every node but the first",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(DeviceSelected, DeviceUsed),
    predict=rank_counts_gpus_of_other_nodes,
)

"""The number of a GPU that CUDA_VISIBLE_DEVICES does not leave."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import MAIN, CudaTouched, DeviceSelected, DeviceUsed, EnvSet, Event, ModelWrapped
from ddpdoctor.facts.gpus import VISIBLE, index_on, indices, named
from ddpdoctor.facts.launch import started_here
from ddpdoctor.facts.ranks import for_some_ranks_only
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Symbol, Value, alternatives
from ddpdoctor.world import WORLDS, Member

SHOWN = 5
"""How many further places a finding names."""


def gpu_is_not_visible(trace: Predicted) -> Iterator[Fault]:
    """Find numbers of GPUs that are not below the count of those that the program has made visible, once each list."""
    found: dict[EnvSet, list[tuple[Event, int, int]]] = {}
    events: list[Event] = [*named(trace), *trace.of(ModelWrapped)]
    for event in sorted(events, key=lambda one: one.order):
        setting = _visible_for(trace, event)
        left = None if setting is None else _count(setting.value)
        if setting is None or not left or event.is_within("try"):
            continue
        beyond = [number for number in _numbers(trace, event) if number >= left]
        if beyond:
            found.setdefault(setting, []).append((event, beyond[0], left))
    for setting, uses in found.items():
        yield _fault(setting, uses)


def _visible_for(trace: Predicted, event: Event) -> EnvSet | None:
    """Return what has certainly set the visible GPUs before an event, in its process or the one that started it."""
    settings = [
        one
        for one in trace.of(EnvSet)
        if one.name == VISIBLE and one.order < event.order and one.process in (event.process, MAIN)
    ]
    if (
        not settings
        or settings[-1].fallback
        or not settings[-1].when <= event.when
        or for_some_ranks_only(settings[-1])
    ):
        return None
    last = settings[-1]
    late = any(
        touched.process == last.process == event.process and touched.order < last.order
        for touched in trace.of(CudaTouched)
        if compatible(touched.when, last.when)
    )
    return None if late else last


def _count(visible: Value) -> int | None:
    """Return how many GPUs a list leaves; a rank's own number leaves one. ``None`` where that is not known."""
    if isinstance(visible, Constant):
        names = [name.strip() for name in str(visible.value).split(",")]
        return len(names) if all(_is_a_gpu(name) for name in names) and len(set(names)) == len(names) else None
    if isinstance(visible, Symbol) and "rank" in visible.taint:
        numbers = {index_on(visible, member) for world in WORLDS.values() for member in world if _tells(world, visible)}
        return 1 if numbers and None not in numbers else None
    return None


def _tells(world: tuple[Member, ...], value: Symbol) -> bool:
    return any(index_on(value, member) is not None for member in world)


def _is_a_gpu(name: str) -> bool:
    return name.isdecimal() or name.startswith(("GPU-", "MIG-"))


def _numbers(trace: Predicted, event: Event) -> Iterator[int]:
    """Yield the numbers of GPUs that an event certainly names, on one rank or another."""
    if isinstance(event, ModelWrapped):
        devices = event.options.get("device_ids")
        ids = devices.value if isinstance(devices, Constant) and isinstance(devices.value, tuple) else ()
        yield from (one for one in ids if isinstance(one, int))
    if not isinstance(event, (DeviceSelected, DeviceUsed)) or event.index is None:
        return
    for _, option in alternatives(event.index):
        if isinstance(option, Constant):
            yield from () if (number := index_on(option, ALONE)) is None else (number,)
    count = started_here(trace, event.process)
    own = any("rank" in one.value.taint for one in trace.of(EnvSet) if one.name == VISIBLE)
    if count is not None:
        world = tuple(Member("spawn", rank, rank, 0, count, count) for rank in range(min(count, MOST)))
        yield from (number for _, number in indices(event.index, event.when, world) if number is not None)
        return
    for world in WORLDS.values():
        # without a list of its own it is not known how many ranks a node has: the first is there in any case
        members = world if own else tuple(member for member in world if not member.local_rank)
        yield from (number for _, number in indices(event.index, event.when, members) if number is not None)


ALONE = Member("single", 0, 0, 0, 1, 1)
MOST = 64


def _fault(setting: EnvSet, uses: list[tuple[Event, int, int]]) -> Fault:
    event, number, left = uses[0]
    leaves = "one GPU, number 0" if left == 1 else f"{left} GPUs, numbers 0 to {left - 1}"
    others = {one.place: one for one, _, _ in uses[1:] if one.place.spot() != event.place.spot()}
    return Fault(
        place=event.place,
        message=f"{VISIBLE} leaves {leaves}: number {number} is not there (invalid device ordinal)",
        places=(
            Label(place=setting.place, text="made visible here"),
            *(Label(place=place, text="here too") for place in list(others)[:SHOWN]),
        ),
        event=event,
        fix=Fix(description="count from 0 among the visible GPUs, or leave the variable to whoever starts the script"),
    )


CHECK = Check(
    name="device-index-out-of-range",
    summary="the number of a GPU that CUDA_VISIBLE_DEVICES does not leave",
    severity=Severity.ERROR,
    layers=("source",),
    triggers=(EnvSet,),
    predict=gpu_is_not_visible,
)

"""How a program gets its ranks: how many there are, and what tells those of one node apart."""

import re

from ddpdoctor.atom import Condition
from ddpdoctor.condition import compatible, together
from ddpdoctor.events import EnvRead, EnvSet, GroupInit, ProcessStarted
from ddpdoctor.facts import starts_its_ranks
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Symbol, Value, alternatives, is_none


def is_alone(trace: Predicted, init: GroupInit, when: Condition) -> bool:
    """Whether a group has one member only, under a condition."""
    sizes = [init.world_size] if init.world_size is not None else _sizes_set(trace, init, when)
    base = together(init.when, when) or init.when
    values = [value for size in sizes for _, value in alternatives(size, base)]
    return bool(values) and all(isinstance(value, Constant) and str(value.value) == "1" for value in values)


def _sizes_set(trace: Predicted, init: GroupInit, when: Condition) -> list[Value]:
    earlier = (event for event in trace.of(EnvSet) if event.order < init.order and not event.fallback)
    return [event.value for event in earlier if event.name == "WORLD_SIZE" and compatible(event.when, when)]


def tells_ranks_of_a_node_apart(trace: Predicted) -> bool:
    """Whether a program is written for several ranks on a node: it starts them, or asks which of them it is."""
    return starts_its_ranks(trace) or any(event.name == "LOCAL_RANK" for event in trace.of(EnvRead))


def meets_on_one_node(trace: Predicted, init: GroupInit) -> bool:
    """Whether a group meets at an address of the own machine that the program gives it whatever it is started with."""
    method = init.init_method
    if method is not None and not is_none(method):
        return all(_is_own_address(str(getattr(one, "value", ""))) for _, one in alternatives(method, init.when))
    earlier = (event for event in trace.of(EnvSet) if event.order < init.order and not event.fallback)
    written = [event for event in earlier if event.name == "MASTER_ADDR" and event.when <= init.when]
    return bool(written) and _is_own_address(str(getattr(written[-1].value, "value", "")))


def _is_own_address(address: str) -> bool:
    return bool(re.match(r"(?:tcp://)?(?:localhost|127\.0\.0\.1|\[?::1\]?)(?::|$)", address))


def started_here(trace: Predicted, process: str) -> int | None:
    """Return how many processes of one kind a program starts at a time, where it says so."""
    for event in trace.of(ProcessStarted):
        if event.child == process and isinstance(event.count, Constant) and isinstance(event.count.value, int):
            return event.count.value
    return None


def numbers_of_ranks(trace: Predicted, process: str) -> tuple[int, ...]:
    """Return with how many ranks a process of a program's runs; none where nothing tells.

    Where the program does not say so itself, and does not start one for each GPU that there happens to be, whoever
    launches it chooses some of :data:`USUAL` mostly, by a launcher or in a configuration.
    """
    sizes = [init.world_size for init in trace.of(GroupInit) if init.process == process]
    said = [size.value for size in sizes if isinstance(size, Constant) and str(size.value).isdigit()]
    if said and len(said) == len(sizes):
        return tuple(int(str(size)) for size in said)
    started = started_here(trace, process) if not said else None
    if started is not None:
        return (started,)
    counts = [event.count for event in trace.of(ProcessStarted) if event.child == process]
    chosen = all(isinstance(count, Symbol) and count.origin == "configuration" for count in counts)
    return USUAL if chosen else ()


USUAL = (2, 4, 8)
"""How many ranks programs are launched with: the GPUs of a machine."""

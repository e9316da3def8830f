"""Which GPU each rank names: the numbers that an index has on the ranks of a launch world."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition
from ddpdoctor.condition import as_formula, together
from ddpdoctor.events import DeviceSelected, DeviceUsed, EnvSet
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_for
from ddpdoctor.value import Constant, Symbol, Value, alternatives
from ddpdoctor.world import UNKNOWN, Member, evaluate

VISIBLE = "CUDA_VISIBLE_DEVICES"


def named(trace: Predicted) -> Iterator[DeviceSelected | DeviceUsed]:
    """Yield what selects or uses a GPU by its number, in order."""
    for event in trace:
        if isinstance(event, (DeviceSelected, DeviceUsed)) and event.index is not None:
            yield event


def indices(value: Value, when: Condition, world: tuple[Member, ...]) -> Iterator[tuple[Member, int | None]]:
    """Yield the members of a launch world that come to an index, each with its number where that is known."""
    for condition, option in alternatives(value, when):
        both = together(when, condition)
        formula = as_formula(condition if both is None else both)
        for member in world:
            if holds_for(formula, member) is not False:
                yield member, index_on(option, member)


def index_on(value: Value, member: Member) -> int | None:
    """Return the number that a single value has on a rank; ``None`` where it is not known or only its name says so."""
    found: object = None
    if isinstance(value, Constant):
        found = value.value
    elif isinstance(value, Symbol) and value.expression is not None and "guessed" not in value.taint:
        found = evaluate(value.expression, member)
    if found is UNKNOWN or isinstance(found, bool):
        return None
    if isinstance(found, str):
        return int(found) if found.isdecimal() and len(found) < MAX_DIGITS else None
    return found if isinstance(found, int) else None


MAX_DIGITS = 5


def sees_its_own_gpus(trace: Predicted, process: str) -> bool:
    """Whether the ranks of a process see GPUs of their own, numbered from 0 on each."""
    return any(
        event.name == VISIBLE and "rank" in event.value.taint and event.process in (process, "main")
        for event in trace.of(EnvSet)
    )

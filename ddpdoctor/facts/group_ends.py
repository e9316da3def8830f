"""Which destructions of a process group a run comes to that nothing goes wrong in."""

from collections.abc import Iterable, Iterator

from ddpdoctor.atom import Atom, Condition, Literal
from ddpdoctor.condition import compatible
from ddpdoctor.events import Backward, Event, GroupDestroyed, GroupInit
from ddpdoctor.facts import replicas
from ddpdoctor.facts.ranks import leave_ranks_out
from ddpdoctor.memory import remembered
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import worth


def processes(trace: Predicted) -> tuple[str, ...]:
    """Return the processes that initialise a group, each once."""
    return tuple(dict.fromkeys(event.process for event in trace.of(GroupInit)))


def inits_of(trace: Predicted, process: str) -> list[GroupInit]:
    """Return where a process initialises its group."""
    return [event for event in trace.of(GroupInit) if event.process == process]


def destroys_of(trace: Predicted, process: str) -> list[GroupDestroyed]:
    """Return where a process destroys a group that it can have initialised, in an ``except`` too.

    Where nothing initialises one, a library has made it.
    """
    inits = inits_of(trace, process)
    destroys = (event for event in trace.of(GroupDestroyed) if event.process == process)
    made_elsewhere = not trace.of(GroupInit)
    return [event for event in destroys if made_elsewhere or any(compatible(event.when, one.when) for one in inits)]


def of_a_normal_run(destroys: Iterable[GroupDestroyed]) -> list[GroupDestroyed]:
    """Return the destructions that no exception has to lead to."""
    return [event for event in destroys if not event.is_within("except")]


def are_for_all(trace: Predicted, process: str, destroys: list[GroupDestroyed]) -> bool:
    """Whether a normal run destroys the group on every rank, without an option that has to be given."""
    return bool(destroys) and not leave_ranks_out(destroys) and not need_an_option(trace, process, destroys)


def need_an_option(trace: Predicted, process: str, destroys: list[GroupDestroyed]) -> bool:
    """Whether a run with all options left at their defaults makes the group, trains, and destroys it nowhere.

    An option on which the group, or all of the distributed training, depends as well is the one that is given.
    """
    if not destroys or not any(_is_made_by_default(init.when) for init in inits_of(trace, process)):
        return False
    needed = [frozenset(_refused(event.when)) for event in destroys]
    trained: list[Event] = [*trace.of(Backward), *replicas(trace)]
    kinds = [[event for event in trained if isinstance(event, kind)] for kind in {type(one) for one in trained}]
    return all(needed) and bool(kinds) and all(any(_is_made_by_default(event.when) for event in one) for one in kinds)


def _is_made_by_default(condition: Condition) -> bool:
    return not any(_refused(condition))


def _refused(condition: Condition) -> Iterator[Literal]:
    """Yield the literals that options at their defaults refuse, whatever the launcher sets."""
    for literal in condition:
        if "configuration" in literal.atom.kinds and worth(literal, _by_options) is False:
            yield literal


@remembered(20_000)
def _by_options(atom: Atom) -> bool | None:
    """Return what the options' defaults make of a test; ``None`` where anything else decides it."""
    if atom.definition is None:
        return atom.by_default if atom.kind == "configuration" else None
    alternatives = [[worth(part, _by_options) for part in alternative] for alternative in atom.definition]
    if any(all(one is True for one in alternative) for alternative in alternatives):
        return True
    return False if all(False in alternative for alternative in alternatives) else None

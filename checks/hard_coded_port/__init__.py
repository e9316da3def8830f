"""A port that is written into the code: the second run on the machine finds it in use."""

from collections.abc import Iterator

from ddpdoctor.atom import Atom, Condition
from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import MAIN, EnvSet, Event, GroupInit
from ddpdoctor.facts import starts_its_ranks
from ddpdoctor.facts.joined import has_joined
from ddpdoctor.facts.launch import is_alone
from ddpdoctor.facts.ranks import can_set_up_ranks
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Value, alternatives

PORT = "MASTER_PORT"


class Setting(NamedTuple):
    """One value that the port gets in one place, under its condition."""

    event: Event
    when: Condition
    value: Value


def port_is_in_the_code(trace: Predicted) -> Iterator[Fault]:
    """Find the places that name a port which no caller, option or environment can change."""
    given = [*_from_environment(trace), *_from_addresses(trace)]
    settings = [one for one in given if not has_joined(trace, one.event)]
    told: set[Place] = set()
    for place in dict.fromkeys(setting.event.place for setting in settings):
        here = [setting for setting in settings if setting.event.place == place]
        literals = [one for one in here if isinstance(one.value, Constant)]
        if not literals or any(_can_be_another(settings, one) for one in literals):
            continue
        used = [one for one in literals if _meets_others(trace, one)]
        if not used or any(_source(one) in told for one in used):
            continue
        told |= {_source(one) for one in used}
        yield _fault(trace, used)


def _from_environment(trace: Predicted) -> Iterator[Setting]:
    """Yield what MASTER_PORT is set to; not where that is for want of one that the user has set."""
    for event in trace.of(EnvSet):
        if event.name == PORT and not event.fallback and not _stands_in(event.when):
            for when, value in alternatives(event.value, event.when):
                yield Setting(event, when, value)


def _stands_in(condition: Condition) -> bool:
    """Whether a condition asks for the address of a rendezvous that the environment may give."""
    return any(
        map(_is_about_the_address, (one for literal in condition for one in (literal.atom, *literal.atom.inside)))
    )


def _is_about_the_address(atom: Atom) -> bool:
    return PORT in atom.text or "MASTER_ADDR" in atom.text


def _from_addresses(trace: Predicted) -> Iterator[Setting]:
    for event in trace.of(GroupInit):
        if event.port is not None:
            for when, value in alternatives(event.port, event.when):
                yield Setting(event, when, value)


def _can_be_another(settings: list[Setting], literal: Setting) -> bool:
    """Whether something that the user decides puts another port in the place of a literal one.

    How the script was launched is no such thing: who starts it in the one way gets the one port.
    """
    for other in settings:
        if isinstance(other.value, Constant) or type(other.event) is not type(literal.event):
            continue
        dividing = {one.atom for one in other.when if one.opposite() in literal.when}
        if not dividing and (other.event is literal.event or not compatible(other.when, literal.when)):
            return True
        if any(not _is_of_the_launch(atom) for atom in dividing):
            return True
    return False


def _is_of_the_launch(atom: Atom) -> bool:
    return atom.kind in ("world", "rank") and not _is_about_the_address(atom)


def _meets_others(trace: Predicted, literal: Setting) -> bool:
    """Whether several ranks meet at the port, and not one process with itself."""
    return can_set_up_ranks(literal.when) and any(
        not is_alone(trace, init, literal.when) for init in _inits(trace, literal)
    )


def _inits(trace: Predicted, literal: Setting) -> Iterator[GroupInit]:
    """Yield the initialisations that take a port from where it is set."""
    if isinstance(literal.event, GroupInit):
        yield literal.event
        return
    for init in trace.of(GroupInit):
        same = literal.event.process in (init.process, MAIN) and compatible(init.when, literal.when)
        if same and init.order > literal.event.order and init.port is None and not _is_replaced(trace, literal, init):
            yield init


def _is_replaced(trace: Predicted, literal: Setting, init: GroupInit) -> bool:
    """Whether the port is surely set once more between a literal one and where the group is made."""
    return any(
        event.name == PORT
        and not event.fallback
        and event.process in (init.process, MAIN)
        and literal.event.order < event.order < init.order
        and event.when <= init.when
        for event in trace.of(EnvSet)
    )


def _source(setting: Setting) -> Place:
    assert isinstance(setting.value, Constant)
    return setting.value.written or setting.event.place


def _fault(trace: Predicted, used: list[Setting]) -> Fault:
    event = used[0].event
    ports = list(dict.fromkeys(str(one.value.value) for one in used if isinstance(one.value, Constant)))
    written = dict.fromkeys(place for one in used if (place := _source(one)).spot() != event.place.spot())
    named = " or ".join(ports)
    message = f"every run meets at port {named}: a second one on this machine finds it in use"
    if isinstance(event, EnvSet) and not starts_its_ranks(trace):
        message += f"; under torchrun with another port the ranks wait at {named} for a store that nobody opens"
    return Fault(
        place=event.place,
        message=message,
        places=tuple(Label(place=place, text="the port is written here") for place in written),
        event=event,
        fix=Fix(
            description='set it with os.environ.setdefault("MASTER_PORT", …), make it an option, or start with torchrun'
        ),
    )


CHECK = Check(
    name="hard-coded-port",
    summary="a port that is written into the code: a second run on the machine finds it in use",
    severity=Severity.NOTE,
    layers=("source",),
    triggers=(GroupInit,),
    predict=port_is_in_the_code,
)

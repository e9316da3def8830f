"""A DDP wrapper's state that is loaded into a plain model, or the other way round: no name fits."""

from collections.abc import Iterator

from ddpdoctor.atom import Condition
from ddpdoctor.check import Check
from ddpdoctor.condition import compatible, together
from ddpdoctor.events import FileUsed, ItemTaken, State, StateLoaded
from ddpdoctor.facts import is_distributed
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Unknown


def names_do_not_fit(trace: Predicted) -> Iterator[Fault]:
    """Find states whose keys begin with ``module.`` where the model's own do not, and the reverse."""
    if not is_distributed(trace):
        return
    reported: set[tuple[Place, bool]] = set()
    for loaded in trace.of(StateLoaded):
        if not loaded.module or loaded.is_within("except") or _has_another_try(trace, loaded):
            continue
        for place, state in _origins(trace, loaded):
            if state.prefixed != loaded.prefixed and (place, state.prefixed) not in reported:
                reported.add((place, state.prefixed))
                yield _fault(loaded, state, place)


def _has_another_try(trace: Predicted, loaded: StateLoaded) -> bool:
    """Whether a handler of the same ``try`` loads the state in another way, or one of two tests does."""
    tries = {block.place for block in loaded.within if block.kind == "try"}
    return any(
        block.kind == "except" and block.place in tries for other in trace.of(StateLoaded) for block in other.within
    )


def _origins(trace: Predicted, loaded: StateLoaded) -> Iterator[tuple[Place, State]]:
    """Yield the states that can be what is loaded, each with the place where it is saved or taken."""
    if loaded.direct is not None:
        if loaded.direct.module and compatible(loaded.when, loaded.direct.when):
            yield loaded.place, loaded.direct
        return
    if loaded.keys is None:
        return
    found = [
        (save, state, when)
        for save in _files_of(trace, loaded)
        for state, when in _states(save)
        if state.module and state.keys == loaded.keys and compatible(when, loaded.when)
    ]
    targets = {one.prefixed for one in trace.of(StateLoaded) if (one.place, one.stack) == (loaded.place, loaded.stack)}
    for save, state, when in found:
        others = {one.prefixed for other, one, then in found if other is not save and compatible(when, then)}
        here = {one.prefixed for other, one, _ in found if other is save}
        if loaded.prefixed in others or (len(here) > 1 and len(targets) > 1):
            continue  # which of them it is cannot be told
        yield save.place, state


def _states(save: FileUsed) -> Iterator[tuple[State, Condition]]:
    for state in save.states:
        when = together(save.when, state.when)
        if when is not None:
            yield state, when


def _files_of(trace: Predicted, loaded: StateLoaded) -> tuple[FileUsed, ...]:
    """Return the saves whose file can be the one that is read: those of its name, else those of its form."""
    reads = [event for event in trace.of(FileUsed) if event.order in loaded.read]
    saves = [event for event in trace.of(FileUsed) if event.op == "save"]
    names = {event.path.text() for event in reads if not isinstance(event.path, Unknown)}
    named = [event for event in saves if event.path.text() in names]
    if named or not reads:
        return tuple(named)
    # an option names the file that training goes on from: it is one of the script's own when several parts agree
    parts = {other.keys for other in trace.of(StateLoaded) if other.read == loaded.read and other.keys}
    items = {item.key for item in trace.of(ItemTaken) if item.read == loaded.read}
    if max(len(parts), len(items)) < 2:
        return ()
    alike = [event for event in saves if parts <= {state.keys for state in event.states} and items <= {*event.keys}]
    return tuple(alike) if len(alike) == len([save for save in saves if save.states]) else ()


def _fault(loaded: StateLoaded, state: State, place: Place) -> Fault:
    if state.prefixed:
        message = 'the wrapper\'s keys begin with "module.", and a plain model gets them'
        fix = "save model.module.state_dict()"
    else:
        message = 'the wrapper asks for keys that begin with "module.", and gets those of the model in it'
        fix = "load into model.module, or before the model is wrapped"
    what = "load_state_dict raises (missing keys)" if loaded.strict else "with strict=False nothing is loaded"
    places = () if place == loaded.place else (Label(place=loaded.place, text="it is loaded here"),)
    if not state.prefixed and place != loaded.place:
        places, place = (Label(place=place, text="it is saved here"),), loaded.place
    return Fault(
        place=place,
        message=f"{message}: {what}",
        places=places,
        event=loaded,
        fix=Fix(description=fix),
    )


CHECK = Check(
    name="module-prefix",
    summary="a DDP wrapper's state is loaded into a plain model: no name fits",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(StateLoaded,),
    predict=names_do_not_fit,
)

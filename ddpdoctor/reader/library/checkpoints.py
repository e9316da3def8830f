"""Checkpoints: the states that are saved and loaded, and where ``torch.load`` puts their tensors."""

from collections.abc import Iterator

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import together
from ddpdoctor.events import Event, State, StateLoaded
from ddpdoctor.reader.abstract import NONE, Abstract, Known, Opaque, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.library.destinations import load_onto
from ddpdoctor.reader.library.files import part_of, use_file
from ddpdoctor.reader.library.kinds import DATA_PARALLEL, DDP_WRAPPERS, is_module
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.stored import CHANGED, STORED, Content, is_state, loads_in, may_be_changed
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import UNKNOWN_VALUE


def _save(walk: Walk, call: Call) -> Abstract:
    target = call.argument("f", 1)
    if target is not None:
        saved = call.argument("obj", 0) or NONE
        use_file(walk, "save", target, call, states=tuple(states_in(walk, saved)), keys=_names_in(saved))
    return NONE


def _names_in(value: Abstract) -> tuple[str, ...]:
    """Return the names of the items in what is saved."""
    tables = (option for _, option in options(value) if isinstance(option, Table))
    return tuple(key for table in tables for key in table.cells if isinstance(key, str))


MAX_DEPTH = 3
"""How deep states are looked for in dictionaries of dictionaries."""


def states_in(walk: Walk, value: Abstract, keys: tuple[str, ...] = (), when: Condition = ALWAYS) -> Iterator[State]:
    """Yield the states of models and optimisers that a value is or holds."""
    for condition, option in options(value, when):
        if isinstance(option, Table) and len(keys) < MAX_DEPTH:
            for key, cell in option.cells.items():
                if isinstance(key, str):
                    yield from states_in(walk, read(cell, walk.path), (*keys, key), condition)
        elif isinstance(option, Made) and is_state(option) and CHANGED not in option.attributes:
            model = option.inner
            if isinstance(model, (Made, Object)):
                yield State(keys, model.ref, has_prefix(model), is_module(model), condition)
            elif model is None:  # of something that is not known
                yield State(keys, option.ref, prefixed=False, module=False, when=condition)


def has_prefix(value: Abstract) -> bool:
    """Whether the keys of a value's state begin with ``module.``: a wrapper's, or a model's with a part of that name.

    FSDP takes the name of its own out again.
    """
    if isinstance(value, Object) and "module" in value.attributes:
        return True
    made = value.inner if isinstance(value, Object) else value
    return isinstance(made, Made) and made.path in DDP_WRAPPERS | {DATA_PARALLEL}


def _load(walk: Walk, call: Call) -> Abstract:
    source = call.argument("f", 0)
    location = call.argument("map_location", 1)
    loads: list[Event] = []
    if source is not None and all(
        isinstance(one, Content) for _, one in options(source)
    ):  # ``isinstance(given, str)`` before it: an item of a checkpoint is hardly a path
        return Content("checkpoint", frozenset({"checkpoint"}), loads=())
    if source is not None:
        where = UNKNOWN_VALUE if location is None and call.open else lower(location or NONE)
        loads = use_file(walk, "load", source, call, map_location=where)
        load_onto(walk, location, call)
    orders = tuple(event.order for event in loads)
    tags = frozenset({"checkpoint", *((STORED, order) for order in orders)})
    return Content("checkpoint", tags | (part_of(source) if source is not None else frozenset()), loads=orders)


def _load_state(walk: Walk, call: Call) -> Abstract | None:
    """``x.load_state_dict(state)``: which state goes into which model or optimiser."""
    state = call.argument("state_dict", 0)
    if state is None or call.receiver is None:
        return None
    before = walk.path
    adapted = not all(isinstance(option, Content) or is_state(option) for _, option in options(state))
    for when, into in options(call.receiver):
        for condition, option in options(state):
            here = together(when, condition)
            here = None if here is None else walk.assuming_also(here)
            if here is not None and not isinstance(into, Known):
                walk.path = here
                _emit(walk, call, into, option, adapted=adapted)
                walk.path = before
    return Opaque(f"{text(call.receiver)}.load_state_dict()")


def _emit(walk: Walk, call: Call, into: Abstract, state: Abstract, *, adapted: bool) -> None:
    """Record that a state is loaded; ``adapted``: under some condition it is one whose names were changed."""
    as_stored = isinstance(state, Content) and state.is_as_stored() and not adapted
    walk.emit(
        StateLoaded,
        call.node,
        into=lower(into),
        read=loads_in(state),
        keys=state.keys if isinstance(state, Content) and as_stored else None,
        direct=next(states_in(walk, state), None) if is_state(state) else None,
        prefixed=has_prefix(into),
        module=is_module(into),
        strict=known(call.argument("strict", 1), True) is not False,
    )


def _without_prefix(walk: Walk, call: Call) -> Abstract:
    """``consume_prefix_in_state_dict_if_present(state, "module.")``: takes the prefix off, in place."""
    if call.args:
        may_be_changed(call.args[0])
    return NONE


FUNCTIONS = {
    "torch.save": _save,
    "torch.jit.save": _save,
    "torch.load": _load,
    "torch.jit.load": _load,
    **dict.fromkeys(
        (
            "torch.nn.utils.consume_prefix_in_state_dict_if_present",
            "torch.nn.utils.utils.consume_prefix_in_state_dict_if_present",
            "torch.nn.modules.utils.consume_prefix_in_state_dict_if_present",
        ),
        _without_prefix,
    ),
}
METHODS = {"load_state_dict": _load_state}

"""Ignite's engines: the loop over the batches is theirs, what it runs is the program's (ignite/engine/engine.py)."""

import ast
import re
from collections.abc import Callable

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import assume, together
from ddpdoctor.events import Loop
from ddpdoctor.reader.abstract import NONE, Abstract, Items, Opaque, is_none
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.epochs import begin_epochs
from ddpdoctor.reader.formulas import named, number
from ddpdoctor.reader.iteration import item_of, loaders_in
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Bound, Function, Made, Partial
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression

ENGINE = "ignite.engine.Engine"
ON = f"{ENGINE}.on"


def _engine(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS, ENGINE)


def _add_event_handler(walk: Walk, call: Call) -> Abstract:
    """``engine.add_event_handler(Events.EPOCH_STARTED, function, …)``: run when the engine comes to the event."""
    event, handler = call.argument("event_name", 0), call.argument("handler", 1)
    if event is not None and handler is not None:
        _handle(walk, call.receiver, event, (handler, *call.args[2:]))
    return NONE


def _on(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call, NO_TAGS, ON)
    made.inner = call.receiver
    return made


def decorated_handler(walk: Walk, decorator: Abstract, value: Abstract) -> None:
    """Note the function that ``@engine.on(Events.EPOCH_STARTED)`` stands before."""
    if isinstance(decorator, Made) and decorator.path == ON and decorator.args:
        _handle(walk, decorator.inner, decorator.args[0], (value, *decorator.args[1:]))


def _handle(walk: Walk, engine: Abstract | None, event: Abstract, handler: tuple[Abstract, ...]) -> None:
    if isinstance(engine, Made) and isinstance(handler[0], (Function, Bound, Partial)):
        key = ("handler", text(event), len(engine.attributes))
        write(engine.attributes, key, walk.path, Items([event, *handler], "tuple"))


def _run(walk: Walk, call: Call) -> Abstract | None:
    """``engine.run(loader, max_epochs=…)``: the process function once for each batch, the handlers at their events."""
    engine, data = call.receiver, call.argument("data", 0) or NONE
    process = engine.args[0] if isinstance(engine, Made) and engine.args else None
    if not isinstance(engine, Made) or not isinstance(process, (Function, Bound, Partial)):
        return None
    place = walk.place(call.node)
    epochs = call.argument("max_epochs", 1)
    passes = None
    if epochs is not None and not is_none(epochs):
        passes = Loop(place=place, kind="for", rounds=lower(epochs), count=number(epochs) or named(epochs))
    given = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else call.node
    batches = Loop(place=walk.place(given), kind="for", loaders=loaders_in(data))
    state = _state(engine, passes)
    write(engine.attributes, "state", ALWAYS, state)

    def one_batch() -> None:
        _come_to(walk, engine, "ITERATION_STARTED", call)
        walk.call_with(process, engine, item_of(walk, data, call.node, batches), node=call.node)
        _come_to(walk, engine, "ITERATION_COMPLETED", call)

    def one_epoch() -> None:
        _come_to(walk, engine, "EPOCH_STARTED", call)
        begin_epochs(walk, data, call.node, call.frame, batches.place)
        _in(walk, batches, one_batch)
        _come_to(walk, engine, "EPOCH_COMPLETED", call)

    _come_to(walk, engine, "STARTED", call)
    _in(walk, passes, one_epoch)
    _come_to(walk, engine, "COMPLETED", call)
    return state


def _state(engine: Made, passes: Loop | None) -> Opaque:
    """Return an engine's state: its epochs and iterations count up, from 1 and through all epochs."""
    state = Opaque(f"{text(engine)}.state")
    count = None
    if passes is not None:
        count = Expression("+", (Expression("constant", (1,)), Expression("round", (passes.place,))))
    index: Tags = frozenset({("index", passes)}) if passes else NO_TAGS
    epoch = Opaque(f"{state.name}.epoch", index, expression=count)
    iteration = Opaque(f"{state.name}.iteration", expression=Expression("counter", ("iteration", False)))
    write(state.attributes, "epoch", ALWAYS, epoch)
    write(state.attributes, "iteration", ALWAYS, iteration)
    return state


def _in(walk: Walk, loop: Loop | None, body: Callable[[], None]) -> None:
    """Interpret a round of a loop."""
    outer = walk.loops
    walk.loops = outer if loop is None else (*outer, loop)
    body()
    walk.loops = outer


def _come_to(walk: Walk, engine: Made, event: str, call: Call) -> None:
    """Run the handlers of an event, those with a filter (``every=5``) under a test of their own."""
    before = walk.path
    for key, cell in list(engine.attributes.items()):
        if not isinstance(key, tuple) or key[0] != "handler" or event not in re.split(r"\W+", key[1]):
            continue
        here = together(before, cell[0][0])
        registered = cell[0][1]
        assert isinstance(registered, Items)
        at, handler, *further = registered.items
        if here is not None and isinstance(at, Made):
            here = assume(here, walk.literal(text(at), "configuration"))
        if here is not None:
            walk.path = here
            walk.call_with(handler, *([engine] if _takes_engine(handler) else []), *further, node=call.node)
        walk.path = before


def _takes_engine(handler: Abstract) -> bool:
    """Whether a handler is given the engine: ignite looks at whether its parameters bind so."""
    function = handler.function if isinstance(handler, (Bound, Partial)) else handler
    if not isinstance(function, Function):
        return True
    parameters = function.node.args
    return (
        len(parameters.posonlyargs) + len(parameters.args) > isinstance(handler, Bound) or parameters.vararg is not None
    )


FUNCTIONS = dict.fromkeys([ENGINE, "ignite.engine.engine.Engine"], _engine)
METHODS = {
    f"{ENGINE}.run": _run,
    f"{ENGINE}.on": _on,
    f"{ENGINE}.add_event_handler": _add_event_handler,
}

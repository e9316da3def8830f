"""What comes to each rank in its own time: clocks and signals."""

import re

from ddpdoctor.reader.abstract import NONE, Abstract, External, Opaque, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.objects import Bound, Function, Partial
from ddpdoctor.reader.walk import Walk


def _clock(walk: Walk, call: Call) -> Abstract:
    return Opaque(f"{call.path}()", frozenset({"data", "clock"}))


def _stamp(walk: Walk, call: Call) -> Abstract | None:
    """``datetime.now().strftime("%Y%m%d-%H%M")``: to the minute or the day, ranks that start together say the same."""
    parts = call.argument("format", 0)
    letters = known(parts)
    if not isinstance(letters, str) or FINER.search(letters):
        return None
    if call.receiver is not None and "clock" not in call.receiver.tags:
        return None
    return Opaque(f"the time as {letters!r}", call.flow() - {"data", "clock"})


FINER = re.compile(r"%-?[STXcfrs+]")
"""What a format says of seconds, or of less."""


def _signal(walk: Walk, call: Call) -> Abstract | None:
    """Let a handler do what it does to variables, under the condition that its signal has come.

    What else happens in it is no part of the program's course.
    """
    handler = call.args[1] if len(call.args) > 1 else call.kwargs.get("handler")
    if not isinstance(handler, (Function, Bound, Partial)):
        return None
    number = call.args[0]
    name = number.path.rpartition(".")[2] if isinstance(number, External) else "a signal"
    before, dead, events = walk.path, walk.dead, len(walk.events)
    exits = [len(frame.exits) for frame in walk.frames]
    come = walk.assuming(walk.literal(f"{name} has come", "data", node=call.node, tags=frozenset({"signal"})))
    if come is not None:
        walk.path = come
        walk.call_with(handler, Opaque("signal"), Opaque("frame"), node=call.node)
    walk.path, walk.dead = before, dead
    del walk.events[events:]
    for frame, number_of_exits in zip(walk.frames, exits, strict=True):
        del frame.exits[number_of_exits:]
    return NONE


_CLOCKS = (
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.perf_counter",
    "timeit.default_timer",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
)

FUNCTIONS = {**dict.fromkeys(_CLOCKS, _clock), "signal.signal": _signal, "time.strftime": _stamp}
METHODS = {"strftime": _stamp}

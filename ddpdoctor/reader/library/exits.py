"""Leaving the program: at once, and what is registered to run then."""

from ddpdoctor.events import LeftLoop, Within
from ddpdoctor.reader.abstract import NONE, Abstract
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.walk import Walk


def _exit(walk: Walk, call: Call) -> Abstract:
    """``sys.exit()`` and the like: nothing follows on this path, and a loop that it is in is left."""
    if walk.loops:
        walk.emit(LeftLoop, call.node, how="end", loop=walk.loops[-1])
    call.frame.exits.append(walk.path)
    walk.dead = True
    return NONE


def _atexit(walk: Walk, call: Call) -> Abstract | None:
    """Run what is registered now, as what happens at the end on every path."""
    if call.args:
        with walk.inside(Within("atexit", walk.place(call.node))):
            walk.call(call.args[0], call._replace(args=call.args[1:]))
        walk.dead = False
    return call.args[0] if call.args else None


FUNCTIONS = {
    **dict.fromkeys(("builtins.exit", "builtins.quit", "sys.exit", "os._exit", "os.abort"), _exit),
    "atexit.register": _atexit,
}

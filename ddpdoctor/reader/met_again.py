"""The collectives of a function that was read often enough: a call that is not read any more comes to them too.

Without them the ranks that come to such a call would seem to leave those alone that came to an earlier one.
"""

import ast

from ddpdoctor.atom import Condition
from ddpdoctor.events import Collective, Loop, Within
from ddpdoctor.place import Place
from ddpdoctor.reader.walk import Walk


class Met:
    """The collectives of a function's last run that was read, and what stood around it then."""

    def __init__(self, walk: Walk, path: Condition) -> None:
        self.path = path
        self.begun = len(walk.events)
        self.stack, self.loops, self.within = len(walk.stack), len(walk.loops), len(walk.within)
        self.collectives: list[Collective] = []
        self.told = {path}

    def keep(self, walk: Walk, body: ast.AST) -> None:
        """Take up what was recorded since the run began."""
        self.collectives = [event for event in walk.events[self.begun :] if isinstance(event, Collective)]
        if self.collectives:
            walk.met[body] = self


def met_again(walk: Walk, met: Met, call: ast.AST, file: str) -> None:
    """Record a function's collectives at a call that is not read, once for each path that comes to one."""
    if walk.path in met.told:
        return
    met.told.add(walk.path)
    with walk.calling(call, file):
        for event in met.collectives:
            when = walk.assuming_also(event.when - met.path)
            if when is not None:
                stack: tuple[Place, ...] = (*walk.stack, *event.stack[met.stack :])
                loops: tuple[Loop, ...] = (*walk.loops, *event.loops[met.loops :])
                within: tuple[Within, ...] = (*walk.within, *event.within[met.within :])
                place = {"stack": stack, "loops": loops, "within": within, "process": walk.process}
                walk.events.append(Collective(**{**vars(event), **place, "when": when, "order": len(walk.events)}))

"""Which layers the forward of a wrapper computes with, in every step or in some."""

import re
from collections.abc import Callable

from ddpdoctor.atom import Atom, Condition
from ddpdoctor.condition import any_of, as_formula
from ddpdoctor.events import LayersUsed
from ddpdoctor.memory import remembered
from ddpdoctor.reader.abstract import (
    Abstract,
    Known,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.left_out import left_out
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

Patterns = tuple[re.Pattern[str], ...]


def _may_find_unused(wrapper: "Object | Made") -> bool:
    """Whether a wrapper may look for parameters that a forward left out: then it matters what it computed with."""
    made = wrapper.inner if isinstance(wrapper, Object) else wrapper
    if not isinstance(made, Made) or made.open:
        return True
    looks = made.argument("find_unused_parameters", 7)
    return looks is not None and not (isinstance(looks, Known) and not looks.value)


def watched(
    walk: Walk, wrapper: "Object | Made", call: Call, run: Callable[[], Abstract], *, grad: bool
) -> Callable[[], Abstract]:
    """Return a wrapper's forward, with a note afterwards of the modules that it computed with.

    Where nobody will ask which, those that only compute are not gone through.
    """
    order = len(walk.events) - 1
    indices = tuple(re.compile(rf"index in line {loop.place.line}\b") for loop in walk.loops)

    def run_and_note() -> Abstract:
        uses: dict[Ref, list[Condition]] = {}
        walk.layers, walk.checkpointed = uses, {}
        walk.layers_matter = grad and _may_find_unused(wrapper)
        try:
            return run()
        finally:
            walk.layers, walk.checkpointed = None, {}
            if uses:
                always = [ref for ref, when in uses.items() if _always(when, walk.path, indices)]
                walk.emit(
                    LayersUsed,
                    call.node,
                    model=wrapper.ref,
                    forward=order,
                    always=tuple(always),
                    sometimes=tuple(ref for ref in uses if ref not in always),
                    left_out=tuple(left_out(walk, wrapper, uses)) if walk.layers_matter else (),
                )
            walk.layers_matter = False

    return run_and_note


def _always(conditions: list[Condition], base: Condition, indices: Patterns) -> bool:
    """Whether one of several conditions holds whenever a base does, as far as what a run never changes goes."""
    return any_of(as_formula(_varying(when - base, indices)) for when in conditions) is True


def _varying(condition: Condition, indices: Patterns) -> Condition:
    """Return what of a condition can differ between steps: what is drawn at random, the data, how far training is."""
    return frozenset(literal for literal in condition if _differs_between_steps(literal.atom, indices))


@remembered(10_000)
def _differs_between_steps(atom: Atom, indices: Patterns) -> bool:
    if atom.definition is not None:
        return any(_differs_between_steps(inner, indices) for inner in atom.inside)
    if atom.kind == "data" and " is " not in atom.text:
        return True
    return atom.kind in ("data", "other") and any(pattern.search(atom.text) for pattern in (_RANDOM, *indices))


_RANDOM = re.compile(r"rand|bernoulli|uniform|multinomial")

"""The yields of a generator: its body runs where it is gone over, and hands each value over there."""

import ast

from ddpdoctor.reader.abstract import NONE, Abstract, Opaque
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.loops import rounds
from ddpdoctor.reader.walk import Walk


def run_yield(walk: Walk, node: ast.Yield, frame: Frame) -> Abstract:
    """``yield x``: whoever goes over the generator gets the value now."""
    value = NONE if node.value is None else walk.evaluate(node.value, frame)
    return _deliver(walk, value, frame)


def run_yield_from(walk: Walk, node: ast.YieldFrom, frame: Frame) -> Abstract:
    """``yield from x``: a loop over it, whose every round yields."""

    def body(item: Abstract) -> None:
        _deliver(walk, item, frame)

    rounds(walk, node, walk.evaluate(node.value, frame), frame, body, kind="for")
    return Opaque(f"result of the generator in {walk.line(node)}")


def _deliver(walk: Walk, value: Abstract, frame: Frame) -> Abstract:
    """Hand a yielded value to whoever iterates or entered the generator; its body runs here."""
    target: Frame | None = frame
    while target is not None and target.on_yield is None and target.function is None:
        target = target.parent
    if target is None or target.on_yield is None:
        return Opaque("sent value")
    return target.on_yield(value)

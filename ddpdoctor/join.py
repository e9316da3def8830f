"""Lays the two traces side by side: finds in the observed one the object or event that was predicted."""

from collections.abc import Iterable
from typing import TypeVar

from ddpdoctor.events import Event
from ddpdoctor.place import Place
from ddpdoctor.value import Ref

E = TypeVar("E", bound=Event)


def same_calls(predicted: tuple[Place, ...], observed: tuple[Place, ...]) -> bool:
    """Whether two stacks of calls are the same, the predicted one covering the observed lines."""
    return len(predicted) == len(observed) and all(map(Place.covers, predicted, observed))


def seen_at(observed: Iterable[E], place: Place, stack: tuple[Place, ...] | None = None) -> tuple[E, ...]:
    """Return the observed events at a predicted place.

    Where they came there through different calls and a stack is given, only those with the same calls are returned:
    a function that builds two loaders has one place and two stacks.
    """
    here = tuple(event for event in observed if place.covers(event.place))
    if stack is None or len({event.stack for event in here}) < 2:
        return here
    exact = tuple(event for event in here if same_calls(stack, event.stack))
    return exact or here


def same_object(predicted: Ref, candidates: Iterable[Ref]) -> tuple[Ref, ...]:
    """Return those of the observed objects that can be the predicted one: one a rank, unless it cannot be told."""
    here = tuple(ref for ref in candidates if predicted.place.covers(ref.place))
    if len({ref.stack for ref in here}) > 1:
        here = tuple(ref for ref in here if same_calls(predicted.stack, ref.stack)) or here
    if len({ref.n for ref in here}) > 1:
        here = tuple(ref for ref in here if ref.n == predicted.n) or here
    return here

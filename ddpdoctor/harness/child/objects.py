"""Knows the objects that events are about: where each was made, and its type's dotted path."""

import sys
import weakref
from collections import Counter
from types import FrameType
from typing import Any

from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.value import Constant, Ref, Unknown, Value


class _Known(NamedTuple):
    alive: Any  # a weak reference, or the object itself where it takes none
    ref: Ref


class Objects:
    """The Refs of a process, by the identity of the objects."""

    def __init__(self, frames: UserFrames, recorder: Recorder) -> None:
        self._frames = frames
        self._recorder = recorder
        self._known: dict[int, _Known] = {}
        self._made: Counter[tuple[object, ...]] = Counter()
        self._types: dict[type, str] = {}

    def made(self, thing: object, frame: FrameType | None = None, *, kind: str | None = None) -> Ref:
        """Return the Ref of an object whose constructor is running, or that was made here: new unless it is known.

        ``kind`` is the dotted path to use instead of its type's.
        """
        known = self.ref(thing)
        if known is not None:
            return known
        place, stack = self._frames.here(_outside_constructor(thing, frame or sys._getframe(1)))
        n = self._count(place, stack)
        process = self._recorder.process
        ref = Ref(type=kind or self.type_name(type(thing)), place=place, stack=stack, process=process, n=n)
        self._known[id(thing)] = _Known(self._hold(thing), ref)
        return ref

    def made_elsewhere(self) -> None:
        """Count an object that the call here makes for other ranks only: the next one is the same number on all."""
        self._count(*self._frames.here(sys._getframe(1)))

    def _count(self, place: Place, stack: tuple[Place, ...]) -> int:
        """Return how many objects were made here before, and count one more."""
        key = (self._recorder.process, place, stack)
        self._made[key] += 1
        return self._made[key] - 1

    def _hold(self, thing: object) -> Any:
        key, known = id(thing), self._known
        try:
            return weakref.ref(thing, lambda _: known.pop(key, None))
        except TypeError:
            return thing

    def ref(self, thing: object) -> Ref | None:
        """Return the Ref of a known object."""
        known = self._known.get(id(thing))
        return known.ref if known is not None else None

    def value(self, thing: object) -> Value:
        """Return what an event carries for a thing: the Ref of a known object, a constant, or unknown with its type."""
        if thing is None or isinstance(thing, (bool, int, float, str)):
            return Constant(value=thing)
        known = self.ref(thing)
        return known if known is not None else Unknown(why=self.type_name(type(thing)))

    def type_name(self, kind: type) -> str:
        """Return a type's dotted path: the shortest by which its own package exports it."""
        name = self._types.get(kind)
        if name is None:
            name = self._types[kind] = _exported_name(kind)
        return name


def _exported_name(kind: type) -> str:
    module = "__main__" if kind.__module__ == "__mp_main__" else kind.__module__
    parts = module.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if getattr(sys.modules.get(package), kind.__name__, None) is kind:
            return f"{package}.{kind.__qualname__}"
    return f"{module}.{kind.__qualname__}"


def _outside_constructor(thing: object, frame: FrameType) -> FrameType:
    """Return the innermost frame around the constructors of a thing: its classes' ``__init__`` run inside each other.

    Without the first argument of a frame being the thing, the frame is no constructor of it.
    """
    outside = frame
    current: FrameType | None = frame
    while current is not None:
        code = current.f_code
        if code.co_name in ("__init__", "__new__", "__call__") and code.co_argcount:
            first = current.f_locals.get(code.co_varnames[0])
            if (first is thing or first is type(thing)) and current.f_back is not None:
                outside = current.f_back
        elif outside is not current and outside is not frame:
            break
        current = current.f_back
    return outside

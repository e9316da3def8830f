"""Writes down the data sets that loaders and samplers read."""

from typing import Any

from ddpdoctor.events import DatasetBuilt
from ddpdoctor.harness.child.objects import Objects
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.value import Ref, Unknown, Value


class DatasetLog:
    """The data sets of this process. Their events are written when their length can be asked for: at the first use.

    ``stand_ins`` holds, by identity, what was put in the place of absent data.
    """

    def __init__(self, recorder: Recorder, objects: Objects) -> None:
        self.stand_ins: dict[int, str] = {}
        self._recorder = recorder
        self._objects = objects
        self._written: set[Ref] = set()

    def value(self, dataset: Any) -> Value:
        """Return what an event carries for a data set, and write the data set itself when it is new."""
        if dataset is None:
            return Unknown(why="no data set")
        ref = self._objects.made(dataset)  # known, unless it is a list or of a class that does not derive from torch's
        if ref not in self._written:
            self._written.add(ref)
            self._recorder.write(
                DatasetBuilt,
                at=(ref.place, ref.stack),
                dataset=ref,
                length=length(dataset),
                stand_in=self.stand_ins.get(id(dataset)),
            )
        return ref


def length(thing: Any) -> int | None:
    """Return the length of a data set, sampler or loader; ``None`` for one that has none."""
    try:
        return len(thing)
    except Exception:  # the user's own __len__ may raise anything
        return None

"""What was made of files, kept for the next program that they are part of."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Shelf(Generic[Made]):
    """Keeps what was made, up to a size; what was asked for least lately goes first."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._kept: OrderedDict[Hashable, tuple[Made, int]] = OrderedDict()

    def get(self, key: Hashable, size: int, make: Callable[[], Made]) -> Made:
        """Return what stands under a key, made now if it is not there."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found[0]
        made = make()
        self._kept[key] = made, size
        self._left -= size
        while self._left < 0:
            _, (_, freed) = self._kept.popitem(last=False)
            self._left += freed
        return made

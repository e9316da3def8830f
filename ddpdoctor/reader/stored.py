"""What was read from a file: which load it came from, and which of its items it is."""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import TRUE, Abstract, Opaque, options
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS, Tags


class Content(Opaque):
    """The content of a file that ``torch.load`` read, or an item of it.

    ``loads`` are the loads by the ``order`` of their events, ``keys`` the items that lead from the whole to this one;
    ``changed`` once something may have changed its keys.
    """

    __slots__ = ("changed", "keys", "loads", "whole")

    def __init__(
        self,
        name: str,
        tags: Tags = NO_TAGS,
        *,
        loads: tuple[int, ...] = (),
        keys: tuple[str, ...] = (),
        whole: "Content | None" = None,
    ) -> None:
        super().__init__(name, tags)
        self.loads = loads
        self.keys = keys
        self.whole = whole
        self.changed = False

    def item(self, key: str, name: str, tags: Tags) -> "Content":
        """Return an item of it."""
        return Content(name, tags, loads=self.loads, keys=(*self.keys, key), whole=self)

    def is_as_stored(self) -> bool:
        """Whether nothing can have changed its keys, or those of what it is an item of."""
        return not self.changed and (self.whole is None or self.whole.is_as_stored())


CHANGED = "changed"
"""The hidden attribute of a ``state_dict()`` whose keys something may have changed."""


def is_state(value: Abstract) -> bool:
    """Whether a value is what ``state_dict()`` of something gave."""
    return isinstance(value, Made) and value.path.endswith(".state_dict")


def may_be_changed(value: Abstract) -> None:
    """Note that the keys of a state, or of what was read from a file, may be others from here on."""
    for _, option in options(value):
        if isinstance(option, Content):
            option.changed = True
        elif isinstance(option, Made) and is_state(option):
            option.attributes[CHANGED] = [(ALWAYS, TRUE)]


def loads_in(value: Abstract) -> tuple[int, ...]:
    """Return the loads of files that flowed into a value, by the ``order`` of their events."""
    return tuple(sorted(tag[1] for tag in value.tags if isinstance(tag, tuple) and tag[0] == STORED))


STORED = "stored"
"""The tag of what flowed from a file, with the ``order`` of the load."""

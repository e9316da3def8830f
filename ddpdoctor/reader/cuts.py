"""How a rank cuts its own part out of the data: whether the parts can have other lengths than each other."""

from ddpdoctor.place import Place
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Items, Known, Opaque, is_none, options
from ddpdoctor.reader.formulas import is_rank
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text

EVEN = ("even",)
"""The mark of what was cut to a length before, one that may well divide by the number of ranks."""
SPLITS = frozenset({"numpy.array_split", "torch.tensor_split", "torch.chunk"})
"""Functions whose parts differ in length where the number of parts does not divide the whole."""
MAX_DEPTH = 4
RANKS_OF_A_NODE = 8
"""A length that divides by this one divides by the numbers of ranks that there mostly are."""


def marks_of_slice(start: Abstract, stop: Abstract, step: Abstract, place: Place) -> Tags:
    """Return the marks of ``[start:stop:step]``: of every n-th item from the rank's own on, the lengths may differ."""
    if is_none(stop):
        return frozenset({("cut", place)}) if _is_of_rank(start) and not is_none(step) else NO_TAGS
    if _is_of_rank(start) and "ceil" in text(start):
        return frozenset({("cut", place)})
    return frozenset({EVEN})


def marks_of_position(start: Abstract) -> Tags:
    """Return the mark of what begins at a number that an object keeps: ``self.position``, by its name."""
    name = text(start).partition(" ")[0].rpartition(".")[2] if isinstance(start, (Opaque, Attribute)) else ""
    return frozenset({("from", name)}) if name.isidentifier() else NO_TAGS


def marks_of_range(args: tuple[Abstract, ...], place: Place) -> Tags:
    """Return the marks of ``range(rank, len(data), n)``."""
    if len(args) != 3 or not _is_of_rank(args[0]) or EVEN in args[1].tags:
        return NO_TAGS
    if isinstance(args[1], Known):
        written = args[1].value
        return frozenset({("cut", place)}) if isinstance(written, int) and written % RANKS_OF_A_NODE else NO_TAGS
    stop = text(args[1])
    whole = stop.startswith("len(") and not any(f" {sign} " in stop for sign in ("-", "//", "%", "*"))
    return frozenset({("cut", place)}) if whole else NO_TAGS


def _is_of_rank(value: Abstract) -> bool:
    return is_rank(value) or "rank" in value.tags


def marks_of_item(holder: Abstract, key: Abstract, place: Place) -> Tags:
    """Return the marks of ``holder[key]`` beside those of the holder."""
    if EVEN in holder.tags:
        return NO_TAGS
    if isinstance(key, Known):
        return frozenset({EVEN}) if isinstance(key.value, slice) and key.value.stop is not None else NO_TAGS
    if isinstance(holder, Made) and holder.path in SPLITS and is_rank(key):
        return frozenset({("cut", place)})
    return frozenset(tag for tag in key.tags if tag == EVEN or (isinstance(tag, tuple) and tag[0] == "cut"))


def marks_of_place(key: Abstract) -> Tags:
    """Return the marks of what is taken out by a number from a generator, or from a position on."""
    return frozenset(tag for tag in key.tags if isinstance(tag, tuple) and tag[0] in ("random", "from"))


def uneven_cut(value: Abstract | None, depth: int = 0) -> Place | None:
    """Return where a data set or sampler was cut into parts of which some may be longer, or ``None``."""
    for _, option in options(value or NONE) if depth <= MAX_DEPTH else ():
        marks = [tag[1] for tag in option.tags if isinstance(tag, tuple) and tag[0] == "cut"]
        if marks and EVEN not in option.tags:
            place = marks[0]
            return place if isinstance(place, Place) else None
        held: list[Abstract] = []
        if isinstance(option, (Made, Object)):
            held = [cell[-1][1] for cell in option.attributes.values()]
        if isinstance(option, Made):
            held += [*option.args, *option.kwargs.values()]
        elif isinstance(option, Items):
            held = option.items[:MAX_ITEMS]
        for one in held:
            found = uneven_cut(one, depth + 1) if one is not option else None
            if found is not None:
                return found
    return None


MAX_ITEMS = 8

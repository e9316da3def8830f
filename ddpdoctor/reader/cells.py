"""Guarded stores: variables, attributes and items as lists of writes, each under the condition it was made.

A read keeps the writes that agree with the reader's condition and gives the older ones the negation of the newer
ones' conditions: one pass over the program suffices, and nothing is ever copied or joined.
"""

from collections.abc import Hashable, Iterable

from ddpdoctor.atom import Condition
from ddpdoctor.condition import as_formula, assume, compact, negation, together
from ddpdoctor.consequences import without_consequences
from ddpdoctor.memory import remembered
from ddpdoctor.reader.abstract import Abstract, Attribute, Cells, Choice, Known, Opaque, Rest
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.texts import text
from ddpdoctor.truth import holds_by_default

MAX_WRITES = 8
MAX_OPTIONS = 6


def write(cells: Cells, name: Hashable, when: Condition, value: Abstract) -> None:
    """Record that a name was given a value under a condition."""
    cell = cells.get(name)
    if cell is None or not when:
        cells[name] = [(when, value)]
        return
    kept = [entry for entry in cell if not when <= entry[0]]
    kept.append((when, value))
    cells[name] = kept if len(kept) <= MAX_WRITES else [_rest(kept[:-MAX_WRITES]), *kept[-MAX_WRITES:]]


def read(cell: list[tuple[Condition, Abstract]], when: Condition) -> Abstract:
    """Return the value of a cell under a condition: one value, or a choice."""
    return cell[0][1] if len(cell) == 1 else _read(tuple(cell), when)


@remembered(20_000)
def _read(cell: tuple[tuple[Condition, Abstract], ...], when: Condition) -> Abstract:
    found: list[tuple[Condition, Abstract]] = []
    rest: Condition | None = when
    for condition, value in reversed(cell):
        if rest is None:
            break
        both = together(rest, condition)
        if both is None:
            continue
        if both == rest:
            if not found:
                return value
            found.append((rest - when, value))
            break
        found.append((both - when, value))
        rest = assume(rest, negation(as_formula(without_consequences(both - rest, rest))))
    if not found:
        return cell[-1][1]
    return choice(found)


def choice(found: Iterable[tuple[Condition, Abstract]]) -> Abstract:
    """Return the value that is one of several, flattened; equal ones are joined only where that loses no guard."""
    flat: list[tuple[Condition, Abstract]] = []
    for condition, value in found:
        if isinstance(value, Choice):
            for inner, option in value.options:
                both = together(condition, inner)
                if both is not None:
                    flat.append((both, option))
        else:
            flat.append((condition, value))
    joined: list[tuple[Condition, Abstract]] = []
    seen: dict[Hashable, int] = {}
    for condition, value in flat:
        key = _identity(value)
        at = seen.get(key)
        if at is not None:
            merged = _either(joined[at][0], condition)
            if merged is not None:
                joined[at] = (merged, _of_both(joined[at][1], value))
                continue
        seen[key] = len(joined)
        joined.append((condition, value))
    if len(joined) == 1:
        return joined[0][1]
    if len(joined) > MAX_OPTIONS + 1:  # one is as well kept
        _take_in_a_default(joined)
        joined[MAX_OPTIONS:] = [_rest(joined[MAX_OPTIONS:])]
    kept = tuple((compact(condition), value) for condition, value in joined)
    return Choice(kept) if kept else Opaque("nothing")


def _take_in_a_default(options: list[tuple[Condition, Abstract]]) -> None:
    """Put the value of a run without options among those that are kept, where all that would be are of options."""
    usual = [holds_by_default(as_formula(when)) is not False for when, _ in options]
    if True not in usual[:MAX_OPTIONS] and True in usual:
        options.insert(0, options.pop(usual.index(True)))


def _rest(left_out: list[tuple[Condition, Abstract]]) -> tuple[Condition, Abstract]:
    """Return one unknown value in the place of those that are too many to be kept apart: it may be any of them."""
    condition = frozenset.intersection(*(when for when, _ in left_out))
    tags = NO_TAGS.union(*(value.tags for _, value in left_out))
    return condition, Rest(f"one of {len(left_out)} more values", tags)


def _of_both(first: Abstract, second: Abstract) -> Abstract:
    """Return the value that two equal ones are: an attribute came from wherever either of them did."""
    if not isinstance(second, Attribute) or first.tags == second.tags:
        return second
    both = Attribute(second.receiver, second.name)
    both.tags = first.tags | second.tags
    return both


def _identity(value: Abstract) -> Hashable:
    if isinstance(value, Known) and isinstance(value.value, (int, str, float, bool, type(None))):
        return type(value.value).__name__, value.value
    if isinstance(value, Attribute):  # of an object and of its copy, say
        made = value.receiver.ref if isinstance(value.receiver, Made) else None  # two samplers of one line are two
        return "attribute", text(value), value.tags, made
    return id(value)


def same(first: Abstract, second: Abstract) -> bool:
    """Whether two values are one: the same object, or equal constants."""
    return _identity(first) == _identity(second)


def _either(first: Condition, second: Condition) -> Condition | None:
    """Return the condition that holds exactly when one of two does, or ``None`` when it is no conjunction."""
    if first <= second:
        return first
    if second <= first:
        return second
    left, right = first - second, second - first
    if len(left) == 1 and len(right) == 1:
        (one,), (other,) = left, right
        if negation(one) == other:
            return first & second
    return None

"""Turns the reader's abstract values into the plain values that events carry."""

from ddpdoctor.condition import assume, negation
from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, Items, Known, Opaque, Table, Truth
from ddpdoctor.reader.attributes import origin_of
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.value import NONE, Constant, Either, Symbol, Taint, Unknown, Value

MAX_DEPTH = 6


def lower(value: Abstract, depth: int = 0) -> Value:
    """Return the plain value of an abstract one."""
    if isinstance(value, Known):
        return _constant(value)
    if isinstance(value, Opaque):
        default = lower(value.default, depth + 1) if value.default is not None and depth < MAX_DEPTH else None
        return Symbol(
            name=value.name,
            origin=value.origin,
            default=default,
            expression=value.expression,
            taint=taint_of(value.tags),
        )
    if isinstance(value, (Made, Object)):
        return value.ref
    if isinstance(value, Choice):
        if depth >= MAX_DEPTH:
            return Unknown(taint=taint_of(value.tags))
        return Either(
            options=tuple((when, lower(option, depth + 1)) for when, option in value.options),
            taint=taint_of(value.tags),
        )
    if isinstance(value, Truth):
        yes, no = assume(frozenset(), value.formula), assume(frozenset(), negation(value.formula))
        both = tuple((when, Constant(value=answer)) for when, answer in ((yes, True), (no, False)) if when is not None)
        return Either(options=both, taint=taint_of(value.tags))
    if isinstance(value, Items) and not value.open and all(isinstance(item, Known) for item in value.items):
        return Constant(value=tuple(item.value for item in value.items if isinstance(item, Known)))
    if isinstance(value, Attribute):
        return Symbol(name=text(value), origin=origin_of(value), taint=taint_of(value.tags))
    return Unknown(
        why=type(value).__name__.lower() if isinstance(value, (Items, Table)) else text(value),
        taint=taint_of(value.tags),
    )


def lower_optional(value: Abstract | None) -> Value | None:
    """Return the plain value of an argument, ``None`` where it was not given."""
    return None if value is None else lower(value)


def _constant(known: Known) -> Value:
    value = known.value
    if known.written is not None:
        return Constant(value=value, written=known.written)
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return Constant(value=value)
    return NONE if not value else Unknown(why=repr(value)[:60])


def taint_of(tags: Tags) -> Taint:
    """Return the taints among the tags of a value."""
    return frozenset(tag for tag in tags if isinstance(tag, str))

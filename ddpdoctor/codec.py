"""The one JSON form of events and what they carry, written and read by both sides.

Numbers, strings and ``None`` stand for themselves, a list for a tuple; ``{"set": […]}`` is a frozenset,
``{"map": {…}}`` a mapping, and ``{"is": "ModelWrapped", …}`` a record or named tuple without the fields that have their
defaults. An atom is written by its text: a decoded one is equal to another decoded one of the same call only.
"""

import json
from collections.abc import Mapping
from typing import Any

from ddpdoctor.atom import Atom, Literal
from ddpdoctor.events import KINDS, Event, Loop, Norm, ParameterSeen, Part, Within
from ddpdoctor.place import Place
from ddpdoctor.record import Record
from ddpdoctor.value import Constant, Either, Group, Ref, Symbol, Unknown
from ddpdoctor.world import Expression

RECORDS: dict[str, type[Record]] = {
    **KINDS,
    **{kind.__name__: kind for kind in (Loop, Constant, Symbol, Ref, Group, Either, Unknown)},
}
TUPLES: dict[str, Any] = {kind.__name__: kind for kind in (Place, Within, Norm, Part, ParameterSeen, Expression)}


def dumps(event: Event) -> str:
    """Return one event as one line of JSON."""
    return json.dumps(encode(event), separators=(",", ":"))


def loads(line: str) -> Event:
    """Return the event of one line of JSON.

    Raises ValueError when the line is not a whole event: a process killed while it wrote leaves such a line, and a
    script may write anything to the folder of its run.
    """
    try:
        event = decode(json.loads(line), {})
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not an event: {error}") from error
    if not isinstance(event, Event) or not _is_whole(event):
        raise ValueError("not an event")
    return event


def _is_whole(event: Event) -> bool:
    """Whether what every event has is of its kind."""
    places = (event.place, *event.stack) if isinstance(event.stack, tuple) else ()
    return (
        bool(places)
        and all(_is_place(place) for place in places)
        and all(isinstance(number, int) for number in (event.order, event.rank or 0))
        and isinstance(event.time, (int, float))
        and isinstance(event.process, str)
    )


def _is_place(place: object) -> bool:
    return isinstance(place, Place) and isinstance(place.file, str) and isinstance(place.line, int)


def encode(value: object) -> Any:
    """Return plain JSON data for an event or anything that an event carries."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = type(value).__name__
    if isinstance(value, Record):
        given = {
            field: encode(item)
            for field, item in value.__dict__.items()
            if item != getattr(type(value), field, _ABSENT)
        }
        return {"is": name, **given}
    if name in TUPLES:
        defaults = value._field_defaults  # type: ignore[attr-defined]
        pairs = zip(value._fields, value, strict=True)  # type: ignore[attr-defined, call-overload]
        return {"is": name, **{field: encode(item) for field, item in pairs if item != defaults.get(field, _ABSENT)}}
    if isinstance(value, Literal):
        return {"is": name, "atom": encode(value.atom), "holds": value.holds}
    if isinstance(value, Atom):
        return {"is": "Atom", "text": value.text, "kind": value.kind}
    if isinstance(value, frozenset):
        return {"set": sorted((encode(item) for item in value), key=json.dumps)}
    if isinstance(value, Mapping):
        return {"map": {str(key): encode(item) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    return str(value)


def decode(data: Any, atoms: dict[str, Atom]) -> Any:
    """Return what :func:`encode` was given; ``atoms`` holds the atoms met so far in this trace, by text."""
    if isinstance(data, list):
        return tuple(decode(item, atoms) for item in data)
    if not isinstance(data, dict):
        return data
    if "set" in data:
        return frozenset(decode(item, atoms) for item in data["set"])
    if "map" in data:
        return {key: decode(item, atoms) for key, item in data["map"].items()}
    name = data["is"]
    if name == "Atom":
        return atoms.setdefault(data["text"], Atom(data["text"], data["kind"]))
    fields = {field: decode(item, atoms) for field, item in data.items() if field != "is"}
    if name == "Literal":
        return Literal(**fields)
    return (RECORDS.get(name) or TUPLES[name])(**fields)


_ABSENT = object()

"""Reads the YAML that configurations are written in; what it leaves to tags, templates and resolvers is unknown."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ddpdoctor.value import UNKNOWN_VALUE

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 60
MAX_NODES = 50_000
"""Of what aliases repeat each counts again, so that a short text cannot stand for an endless one."""

_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_WORDS = {
    **dict.fromkeys(("null", "~", "none", ""), None),
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}
"""``none`` is text in YAML, and what most who write it mean is not."""

_STATEMENT = re.compile(r"\{%[^\n]*?%\}")
_FIELD = re.compile(r"\{\{[^{}\n]*\}\}")
_FILLED_IN = "__filled_in__"
"""What stands for a template's ``{{ … }}`` and ``{% … %}``."""
_UNRESOLVED = (_FILLED_IN, "${")

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset({None, "!", *(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))})


def load_yaml(text: str) -> Any:
    """Return the content of a YAML text, that of its first document; ``UNKNOWN_VALUE`` stands for what is not known.

    Raises ValueError where the text is no YAML, or nested deeper or larger than any configuration is.
    """
    import yaml  # only here: it takes longer to import than most scripts to read

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        try:
            return _Composer(yaml.parse(text, Loader=loader)).document()
        except yaml.YAMLError:
            filled_in = _without_template(text)
            if filled_in == text:
                raise
            return _Composer(yaml.parse(filled_in, Loader=loader)).document()
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _without_template(text: str) -> str:
    """Return a text with a plain word for each field of a template, and without the lines that only steer it."""
    lines = (line for line in text.split("\n") if not _STATEMENT.fullmatch(line.strip()))
    return "\n".join(_FIELD.sub(_FILLED_IN, _STATEMENT.sub(_FILLED_IN, line)) for line in lines)


class _Composer:
    """Puts the events of a YAML text together."""

    def __init__(self, events: "Iterator[yaml.Event]") -> None:
        self._events = events
        self._anchors: dict[str, tuple[Any, int]] = {}  # what is whole of them, and how many nodes it has
        self._nodes = 0

    def document(self) -> Any:
        """Return the content of the first document, ``None`` where there is none."""
        for event in self._events:
            if type(event).__name__ not in ("StreamStartEvent", "DocumentStartEvent"):
                return None if type(event).__name__ == "StreamEndEvent" else self._node(event, 0)
        return None

    def _node(self, event: Any, depth: int) -> Any:
        start, kind = self._nodes, type(event).__name__
        self._count(1)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        if kind == "AliasEvent":
            value, nodes = self._anchors.get(event.anchor, (UNKNOWN_VALUE, 0))
            self._count(nodes)
            return value
        if kind == "ScalarEvent":
            value = _scalar(event)
        elif kind == "SequenceStartEvent":
            value = [self._node(item, depth + 1) for item in self._until("SequenceEndEvent")]
        else:
            value = self._mapping(depth)
        if getattr(event, "tag", None) not in _PLAIN_TAGS:
            value = UNKNOWN_VALUE
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._nodes - start
        return value

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES} values")

    def _until(self, end: str) -> Iterator[Any]:
        for event in self._events:
            if type(event).__name__ == end:
                return
            yield event

    def _mapping(self, depth: int) -> Any:
        found: dict[Any, Any] = {}
        merged: list[Any] = []
        certain = True
        for event in self._until("MappingEndEvent"):
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if key == "<<":
                merged += value if isinstance(value, list) else [value]
            elif isinstance(key, (list, dict)) or key is UNKNOWN_VALUE:
                certain = False
            else:
                found[key] = value
        for other in merged:
            certain = certain and isinstance(other, dict)
            for key, value in other.items() if isinstance(other, dict) else ():
                found.setdefault(key, value)
        return found if certain else UNKNOWN_VALUE


def _scalar(event: Any) -> Any:
    if any(sign in event.value for sign in _UNRESOLVED):
        return UNKNOWN_VALUE
    tag = None if event.tag == "!" else event.tag
    if tag == f"{_TAG}str" or (tag is None and not event.implicit[0]):
        return event.value
    return _plain(event.value)


def _plain(text: str) -> Any:
    word = text.lower()
    if word in _WORDS:
        return _WORDS[word]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text

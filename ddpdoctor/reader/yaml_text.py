"""Reads the YAML that configurations are written in: mappings, lists and plain values; the rest is left unknown."""

import re
from typing import Any

UNKNOWN: Any = type("UnknownValue", (), {"__repr__": lambda self: "unknown"})()
"""What is not read: anchors, tags, texts over several lines."""

MAX_LINES = 4_000
_PAIR = r"""("[^"]*"|'[^']*'|[^\s#:{\[\]},"'][^:#]*?)\s*:(?:\s+(.*)|$)"""
_WHOLE = r"[-+]?[0-9]{1,18}"
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_COMMENT = r"(^|\s)#.*$"
_WORDS = {
    **dict.fromkeys(("null", "~", "none", ""), None),
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}

Line = tuple[int, str]


def load_yaml(text: str) -> Any:
    """Return the content of a YAML text.

    Raises ValueError where it is no mapping or list that is read here.
    """
    lines = [line for line in map(_line, text.splitlines()[:MAX_LINES]) if line is not None]
    if lines and lines[0][1] == "---":
        lines = lines[1:]
    end = next((i for i, (_, content) in enumerate(lines) if content in ("---", "...")), len(lines))
    value, rest = _block(lines, 0, lines[0][0] if lines else 0)
    if rest < end:
        raise ValueError(lines[rest][1])
    return value


def _line(text: str) -> Line | None:
    plain = re.sub(_COMMENT, "", text) if "#" in text and '"' not in text and "'" not in text else text
    content = plain.strip()
    return None if not content or content.startswith(("#", "%")) else (len(plain) - len(plain.lstrip()), content)


def _block(lines: list[Line], i: int, indent: int) -> tuple[Any, int]:
    if i >= len(lines):
        return None, i
    return _list(lines, i, indent) if _is_item(lines[i][1]) else _mapping(lines, i, indent)


def _is_item(content: str) -> bool:
    return content == "-" or content.startswith("- ")


def _list(lines: list[Line], i: int, indent: int) -> tuple[list[Any], int]:
    items = []
    while i < len(lines) and lines[i][0] == indent and _is_item(lines[i][1]):
        rest = lines[i][1][1:].strip()
        if not rest:
            value, i = _nested(lines, i + 1, indent)
        elif re.match(_PAIR, rest) and rest[0] not in "{[":
            inner = indent + len(lines[i][1]) - len(rest)
            value, i = _mapping([*lines[:i], (inner, rest), *lines[i + 1 :]], i, inner)
        else:
            value, i = scalar(rest), i + 1
        items.append(value)
    return items, i


def _mapping(lines: list[Line], i: int, indent: int) -> tuple[dict[Any, Any], int]:
    found: dict[Any, Any] = {}
    while i < len(lines) and lines[i][0] == indent:
        match = re.fullmatch(_PAIR, lines[i][1])
        if match is None:
            raise ValueError(lines[i][1])
        key, value = scalar(match[1]), match[2]
        if value and value[0] in "|>":
            found[key], i = UNKNOWN, _after(lines, i + 1, indent)
        elif value:
            found[key], i = scalar(value), i + 1
        else:
            found[key], i = _nested(lines, i + 1, indent)
    return found, i


def _after(lines: list[Line], i: int, indent: int) -> int:
    while i < len(lines) and lines[i][0] > indent:
        i += 1
    return i


def _nested(lines: list[Line], i: int, indent: int) -> tuple[Any, int]:
    """Return what is indented under a line; a list under a key may stand as far left as the key."""
    if i < len(lines) and (lines[i][0] > indent or (lines[i][0] == indent and _is_item(lines[i][1]))):
        return _block(lines, i, lines[i][0])
    return None, i


def scalar(text: str) -> Any:
    """Return a plain value, or a list or mapping that is written in one line."""
    text = text.strip()
    if text[:1] in ("&", "*", "!") or "${" in text or text[:2] in ("{{", "{%"):
        return UNKNOWN  # {{ … }} and {% … %} are of a template
    if text[:1] in ("'", '"'):
        quote, end = text[0], text.find(text[0], 1)
        return text[1:end] if end > 0 and "\\" not in text and quote == text[0] else UNKNOWN
    if text[:1] == "[" and text.endswith("]"):
        return [scalar(part) for part in _parts(text[1:-1])]
    if text[:1] == "{" and text.endswith("}"):
        pairs = (part.partition(":") for part in _parts(text[1:-1]))
        found = [(scalar(key), scalar(value)) for key, _, value in pairs]
        return UNKNOWN if any(isinstance(key, (list, dict)) for key, _ in found) else dict(found)
    text = re.sub(_COMMENT, "", text).strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(_WHOLE, text):
        return int(text)
    return float(text) if re.fullmatch(_NUMBER, text) else text


def _parts(text: str) -> list[str]:
    """Return what stands between the commas of a list, those inside nested ones left alone."""
    parts, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "[{") - (sign in "]}")
        if sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part for part in (*parts, text[start:]) if part.strip()]

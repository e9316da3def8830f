"""Evidence in readable form: plain data as short lines."""

from collections.abc import Iterator
from typing import Any

MAX_ITEMS = 10
MAX_ENTRIES = 5
MAX_TEXT = 300
"""So many items are shown in a line, so many in lines of their own, and so many characters of a text; the JSON report
has them all.
"""


def readable(evidence: dict[str, Any]) -> Iterator[str]:
    """Yield lines that say what the evidence holds, nested ones indented by two."""
    for name, value in evidence.items():
        if value not in ("", [], {}):
            yield from _entry(_label(name), value)


def _entry(label: str, value: Any) -> Iterator[str]:
    if _is_short(value):
        yield f"{label}: {_inline(value)}"
        return
    if isinstance(value, dict):
        entries = [(_label(key), item) for key, item in value.items()]
    else:
        entries = [_lead(item, number) for number, item in enumerate(value)]
    yield f"{label}:"
    for inner, item in entries[:MAX_ENTRIES]:
        for line in _entry(inner, item):
            yield f"  {line}"
    if len(entries) > MAX_ENTRIES:
        yield f"  ... and {len(entries) - MAX_ENTRIES} more"


def _lead(item: Any, number: int) -> tuple[str, Any]:
    """Return what an item of a list is called, and the rest of it."""
    if isinstance(item, dict):
        for key in ("name", "rank", "place"):
            if key in item and not isinstance(item[key], (dict, list)):
                rest = {other: value for other, value in item.items() if other != key}
                return (f"rank {item[key]}" if key == "rank" else str(item[key])), rest
    return str(number + 1), item


def _label(name: str) -> str:
    return name.replace("_", " ")


def _is_short(value: Any) -> bool:
    """Whether a value fits into one line: a scalar, a list of scalars or of short lists, a flat mapping."""
    if isinstance(value, dict):
        return all(_is_flat(item) for item in value.values()) and len(value) <= MAX_ITEMS and not _ranks(value)
    if isinstance(value, list):
        return all(_is_flat(item) for item in value)
    return True


def _ranks(value: dict[str, Any]) -> bool:
    """Whether a mapping has one entry a rank: each gets a line of its own, to be compared with the others."""
    return bool(value) and all(key.startswith("rank ") for key in value)


def _is_flat(value: Any) -> bool:
    return not isinstance(value, (dict, list)) or (
        isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value)
    )


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_label(key)} {_scalar(item)}" for key, item in value.items())
    if isinstance(value, list):
        shown = ", ".join(_scalar(item) for item in value[:MAX_ITEMS])
        return f"{shown}, ... ({len(value)} in all)" if len(value) > MAX_ITEMS else shown or "none"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        inside = ", ".join(_scalar(item) for item in value[:MAX_ITEMS])
        return f"[{inside}, ... {len(value)} in all]" if len(value) > MAX_ITEMS else f"[{inside}]"
    text = str(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"

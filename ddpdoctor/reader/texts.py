"""The canonical text of abstract values, by which conditions on them are told apart and reports speak of them."""

from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Items, Known, Opaque, Table, Truth, clipped
from ddpdoctor.reader.objects import Class, Function, Made, Object

MAX_DEPTH = 3
"""How deep containers in containers are spelt out: they can hold each other."""


def text(value: Abstract, depth: int = 0) -> str:
    """Return the canonical text of a value, by which conditions on it are told apart."""
    if isinstance(value, Known):
        return repr(value.value)[:60]
    if isinstance(value, Opaque):
        return value.name
    if isinstance(value, External):
        return value.path
    if isinstance(value, (Made, Object)):
        name = value.path if isinstance(value, Made) else value.cls.name
        home = f"{value.home}:" if value.home else ""
        return f"{name}@{home}{value.ref.place.line}.{value.ref.n}"
    if isinstance(value, Attribute):
        return clipped(f"{text(value.receiver)}.{value.name}")
    if isinstance(value, Truth):
        return clipped(str(value.formula))
    if isinstance(value, Choice):
        return "(" + " | ".join(sorted(text(option)[:40] for _, option in value.options)) + ")"
    if isinstance(value, (Function, Class)):
        return value.name
    if isinstance(value, Items):
        items = (text(item, depth + 1)[:40] for item in value.items[:8]) if depth < MAX_DEPTH else "…"
        return f"[{', '.join(items)}{', …' if value.open else ''}]"
    if isinstance(value, Table):
        return f"{{{', '.join(str(key) for key in list(value.cells)[:8])}}}"
    return f"{type(value).__name__}@{id(value):x}"

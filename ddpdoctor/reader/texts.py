"""The canonical text of abstract values, by which conditions on them are told apart and reports speak of them."""

from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, External, Items, Known, Opaque, Table, Truth
from ddpdoctor.reader.objects import Class, Function, Made, Object


def text(value: Abstract) -> str:
    """Return the canonical text of a value, by which conditions on it are told apart."""
    if isinstance(value, Known):
        return repr(value.value)[:60]
    if isinstance(value, Opaque):
        return value.name
    if isinstance(value, External):
        return value.path
    if isinstance(value, (Made, Object)):
        name = value.path if isinstance(value, Made) else value.cls.name
        return f"{name}@{value.ref.place.line}.{value.ref.n}"
    if isinstance(value, Attribute):
        return f"{text(value.receiver)}.{value.name}"
    if isinstance(value, Truth):
        return str(value.formula)
    if isinstance(value, Choice):
        return "(" + " | ".join(sorted(text(option)[:40] for _, option in value.options)) + ")"
    if isinstance(value, (Function, Class)):
        return value.name
    if isinstance(value, Items):
        return f"[{', '.join(text(item)[:40] for item in value.items[:8])}{', …' if value.open else ''}]"
    if isinstance(value, Table):
        return f"{{{', '.join(str(key) for key in list(value.cells)[:8])}}}"
    return f"{type(value).__name__}@{id(value):x}"

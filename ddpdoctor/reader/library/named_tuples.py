"""Named tuples that a call makes: ``namedtuple("Option", "flags default")`` is a class with these fields."""

import ast

from ddpdoctor.reader.abstract import Abstract, External, Items, Known, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.objects import Class
from ddpdoctor.reader.walk import Walk


def _named_tuple(walk: Walk, call: Call) -> Abstract | None:
    """Make the class; its fields are named in a text or a list, or in pairs with their types."""
    name, names = call.argument("typename", 0), _names(call.argument("field_names", 1) or call.argument("fields", 1))
    if names is None or call.open or not isinstance(call.node, ast.Call):
        return None
    title = known(name)
    node = ast.ClassDef(str(title), [], [], [], [])
    ast.copy_location(node, call.node)
    made = Class(node, [External("typing.NamedTuple")], call.frame)
    given = next((word.value for word in call.node.keywords if word.arg == "defaults"), None)
    defaults = given.elts if isinstance(given, (ast.Tuple, ast.List)) else []
    without = len(names) - len(defaults)
    made.fields = tuple(
        (field, defaults[i - without] if 0 <= i - without < len(defaults) else None) for i, field in enumerate(names)
    )
    return made


def _names(value: Abstract | None) -> list[str] | None:
    """Return the names of the fields, ``None`` where one of them is not known."""
    if isinstance(value, Known) and isinstance(value.value, str):
        return value.value.replace(",", " ").split()
    if not isinstance(value, Items) or value.open:
        return None
    found = [known(item.items[0]) if isinstance(item, Items) and item.items else known(item) for item in value.items]
    names = [name for name in found if isinstance(name, str)]
    return names if len(names) == len(found) else None


FUNCTIONS = dict.fromkeys(("collections.namedtuple", "typing.NamedTuple"), _named_tuple)

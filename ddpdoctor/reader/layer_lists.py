"""Lists of layers that are changed where they are: ``layers += [conv, norm]``."""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import as_formula
from ddpdoctor.reader.abstract import Abstract, Choice, Items, Opaque
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import holds_by_default


def as_put(walk: Walk, layer: Abstract) -> Abstract:
    """Return a layer as it comes into a list: only where the option is given that it is put in for."""
    if not walk.path or not is_module(layer) or holds_by_default(as_formula(walk.path)) is not False:
        return layer
    return Choice(((walk.path, layer), (ALWAYS, Opaque("no layer"))))


def extend_layers(walk: Walk, holder: Abstract, given: Abstract) -> bool:
    """Put further layers into a list of them, and return whether it is one."""
    if not isinstance(holder, Items) or not isinstance(given, Items) or holder.kind != "list":
        return False
    if not any(is_module(item) for item in given.items):
        return False
    whole = Items([*holder.items, *(as_put(walk, item) for item in given.items)], more=given.open)
    holder.items[:] = whole.items
    holder.open = holder.open or whole.open or bool(walk.loops) or bool(walk.path)
    return True

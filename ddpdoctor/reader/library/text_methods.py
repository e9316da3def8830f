"""Methods of texts that are known: what they make of them, ``"package.module.Name".rsplit(".", 1)``."""

from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.formulas import by_default
from ddpdoctor.reader.library.import_path import of_folder
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

PARTING = frozenset({"split", "rsplit", "partition", "rpartition"})
"""What takes a text apart: an option's that is a dotted name, into parts that are options too. What else an option
holds, a list of GPUs say, has as many parts as the user gives."""


def _of_text(walk: Walk, call: Call) -> Abstract | None:
    """Compute a method of a known text on known arguments; of an option's, on what it is by default."""
    receiver = call.receiver
    name = call.path.rpartition(".")[2]
    given = (*call.args, *call.kwargs.values())
    of_names = name in PARTING and known(call.argument("sep", 0)) == "."
    of_option = isinstance(receiver, Opaque) and "configuration" in receiver.tags
    value = known(by_default(receiver) if receiver is not None and (of_names or of_option) else receiver)
    if not isinstance(value, str):
        return of_folder(walk, call)
    if not all(isinstance(arg, Known) for arg in given):
        return None
    method = getattr(str, name)
    kwargs = {key: known(arg) for key, arg in call.kwargs.items()}
    result = computed(lambda *args: method(*args, **kwargs), value, *(known(arg) for arg in call.args))
    if result is NO_RESULT:
        return None
    whole: Abstract = Known(result)
    if isinstance(result, (list, tuple)):
        whole = Items([Known(item) for item in result], "list" if isinstance(result, list) else "tuple")
    if not isinstance(receiver, Opaque):
        return whole
    if isinstance(result, tuple) or (isinstance(result, list) and of_names):
        return Items([_part(receiver, name, i, item) for i, item in enumerate(result)], type(result).__name__)
    return Opaque(f"{text(receiver)}.{name}()", receiver.tags, origin=receiver.origin, default=whole)


def joined(call: Call) -> Abstract | None:
    """``".".join(parts)``: of parts that are known, or are by default."""
    parts = call.args[0] if call.args else None
    separator = known(call.receiver)
    if not isinstance(parts, Items) or parts.open or not isinstance(separator, str):
        return None
    usual = [known(by_default(part)) for part in parts.items]
    texts = [one for one in usual if isinstance(one, str)]
    if len(texts) < len(usual):
        return None
    whole = Known(separator.join(texts))
    option = next((part for part in parts.items if isinstance(part, Opaque)), None)
    if option is None:
        return whole
    tags = frozenset().union(*(part.tags for part in parts.items))
    return Opaque(f"{separator!r}.join({text(option)}, …)", tags, origin=option.origin, default=whole)


def _part(whole: Opaque, method: str, i: int, item: str) -> Opaque:
    return Opaque(f"{text(whole)}.{method}()[{i}]", whole.tags, origin=whole.origin, default=Known(item))


METHODS = dict.fromkeys(
    (
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "replace"),
        *("removeprefix", "removesuffix", "startswith", "endswith"),
        *PARTING,
    ),
    _of_text,
)

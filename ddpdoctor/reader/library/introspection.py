"""Builtins that ask what a value is or has: getattr, hasattr, isinstance, callable."""

from ddpdoctor.atom import Condition
from ddpdoctor.condition import all_of, any_of, as_formula
from ddpdoctor.reader.abstract import (
    NONE,
    Abstract,
    Choice,
    External,
    Items,
    Known,
    Opaque,
    Table,
    is_none,
    known,
    options,
)
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.chosen import one_of_module
from ddpdoctor.reader.formulas import boolean, by_default, is_about
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.library.shapes import can_have, is_instance
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Package, Partial
from ddpdoctor.reader.settings import Setting, Settings
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk


def _getattr(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) > 1 and isinstance(call.args[1], Choice):
        return _one_of_several(walk, call, call.args[1])
    if len(call.args) > 1 and isinstance(call.args[1], Opaque):
        usual = by_default(call.args[1])
        if isinstance(known(usual), str) and not _are_without(walk, call.args[0], str(known(usual))):
            return _getattr(walk, call._replace(args=(call.args[0], usual, *call.args[2:])))
    if len(call.args) < 2 or not isinstance(known(call.args[1]), str):
        chosen = _one_of_modules(walk, call) if len(call.args) > 1 else None
        if chosen is not None:
            return chosen
        return Opaque(f"getattr({text(call.args[0])}, …)", call.flow()) if call.args else None
    name = str(known(call.args[1]))
    found = []
    if len(call.args) == 2 and all(isinstance(option, Package) for _, option in options(call.args[0])):
        return walk.get(call.args[0], name, call.node)
    for when, option in options(call.args[0]):
        has = can_have(walk, option, name)
        if has is False:
            found.append((when, call.args[2] if len(call.args) > 2 else Opaque(f"{text(option)}.{name}")))
        elif has is None and len(call.args) > 2:
            there = walk.literal(
                f"{text(option)} has {name}", by_default=False
            )  # what is given otherwise is the default
            without = frozenset({type(there)(there.atom, False)})
            found += [(when | {there}, walk.get(option, name, call.node)), (when | without, call.args[2])]
        else:
            found.append((when, walk.get(option, name, call.node)))
    return choice(found)


def _are_without(walk: Walk, holder: Abstract, name: str) -> bool:
    """Whether a holder is a module of the project without such a name: the option is another one then."""
    held = [option for _, option in options(holder)]
    return all(isinstance(one, Package) and can_have(walk, one, name) is False for one in held)


def _get_attribute(walk: Walk, call: Call) -> Abstract | None:
    """``module.__getattribute__("Net")``, the long way to write ``getattr``."""
    return _getattr(walk, call._replace(args=(call.receiver or NONE, *call.args)))


def _one_of_modules(walk: Walk, call: Call) -> Abstract | None:
    """``getattr(models, name)`` of a module of the project, where the name is not known: one of them has it."""
    if not isinstance(call.args[1], Opaque):
        return None
    before, found = walk.path, []
    for when, option in options(call.args[0]):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, Package):
            walk.path = here
            one = one_of_module(walk, option.module, call.args[1])
            walk.path = before
            found += [] if one is None else [(when, one)]
    return choice(found) if found else None


def _one_of_several(walk: Walk, call: Call, names: Choice) -> Abstract:
    """``getattr(models, name)``, where the name is one of several, each under its condition."""
    before, found = walk.path, []
    for when, name in options(names):
        here = walk.assuming_also(when)
        if here is not None:
            walk.path = here
            one = _getattr(walk, call._replace(args=(call.args[0], name, *call.args[2:])))
            walk.path = before
            if one is not None:
                found.append((when, one))
    return choice(found)


def _hasattr(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) != 2 or not isinstance(known(call.args[1]), str):
        return None
    name = str(known(call.args[1]))
    parts = []
    for when, option in options(call.args[0]):
        has = can_have(walk, option, name)
        formula = walk.literal(f"{text(option)} has {name}") if has is None else has
        parts.append(all_of([as_formula(when), formula]))
    return boolean(any_of(parts))


def _setattr(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) == 3 and isinstance(known(call.args[1]), str):
        walk.set(call.args[0], str(known(call.args[1])), call.args[2], call.node)
    elif len(call.args) == 3 and is_module(call.args[0]) and is_module(call.args[2]):
        walk.set(call.args[0], f"part made in {walk.line(call.node)}", call.args[2], call.node)
    return NONE


def _isinstance(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) != 2:
        return None
    classes = call.args[1].items if isinstance(call.args[1], Items) else [call.args[1]]
    answers = [(when, option, _is_one_of(option, classes)) for when, option in options(call.args[0])]
    alike = _answer_of_the_others(answers)
    parts = []
    for when, option, answer in answers:
        if answer is None and alike is None:
            names = ", ".join(text(cls) for cls in classes)
            parts.append(all_of([as_formula(when), walk.literal(f"{text(option)} is a {names}")]))
        elif alike if answer is None else answer:
            parts.append(as_formula(when))
    return boolean(any_of(parts))


def _is_one_of(value: Abstract, classes: list[Abstract]) -> bool | None:
    """Whether a value is of one of some classes, where that can be told."""
    answers = {is_instance(value, cls) for cls in classes}
    return True if True in answers else None if None in answers else False


def _answer_of_the_others(answers: list[tuple[Condition, Abstract, bool | None]]) -> bool | None:
    """Return what the known ones of the values that ranks chose tell of the unknown ones.

    ``name = make_folder() if rank == 0 else ""``: a variable has values of one type on all ranks, or ``None``.
    """
    known_ones = {answer for _, option, answer in answers if answer is not None and not is_none(option)}
    by_rank = any(is_about(as_formula(when), "rank") for when, _, _ in answers)
    return known_ones.pop() if by_rank and len(known_ones) == 1 else None


def _type(walk: Walk, call: Call) -> Abstract | None:
    """``type(model)``: the class of each value that it can be, where those of all are known."""
    if len(call.args) != 1:
        return None
    found = [(when, _class_of(option)) for when, option in options(call.args[0])]
    known_ones = [(when, cls) for when, cls in found if cls is not None]
    return choice(known_ones) if len(known_ones) == len(found) else None


def _class_of(value: Abstract) -> Abstract | None:
    if isinstance(value, Object):
        return value.cls
    if isinstance(value, Made):
        return External(value.path) if is_module(value) else None
    if isinstance(value, Known) and not is_none(value):
        return External(f"builtins.{type(value.value).__name__}")
    if isinstance(value, Setting) and value.type not in (None, type(None)):
        return External(f"builtins.{value.type.__name__}")  # the user's is of the same
    mapping = isinstance(value, Table) or (isinstance(value, Settings) and value.is_mapping())
    return External("builtins.dict") if mapping else None


def _is_dataclass(walk: Walk, call: Call) -> Abstract | None:
    """``dataclasses.is_dataclass(Options)``, where the class is one of the project's, or an object of one."""
    value = call.args[0] if call.args else None
    cls = value.cls if isinstance(value, Object) else value
    if isinstance(cls, Class) and (cls.fields is not None or not cls.external_bases()):
        return Known(any(one.fields is not None for one in cls.resolution()))
    return Known(False) if isinstance(value, (Known, Items, Table)) else None


def _callable(walk: Walk, call: Call) -> Abstract | None:
    value = call.args[0] if call.args else None
    return Known(True) if isinstance(value, (Function, Bound, Class, Partial)) else None


def _globals(walk: Walk, call: Call) -> Abstract:
    return Table(call.frame.module.cells, more=True)


def _locals(walk: Walk, call: Call) -> Abstract:
    """``locals()``: a function's variables as they are now, arguments among them; those of a module as they change."""
    frame = call.frame
    return _globals(walk, call) if frame.function is None else Table({k: list(cell) for k, cell in frame.cells.items()})


FUNCTIONS = {
    "builtins.globals": _globals,
    "builtins.locals": _locals,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.isinstance": _isinstance,
    "builtins.callable": _callable,
    "builtins.type": _type,
    "dataclasses.is_dataclass": _is_dataclass,
}
METHODS = {"__getattribute__": _get_attribute}

"""Options and configurations: argparse, and files that are read into dictionaries."""

import ast
from functools import partial

from ddpdoctor.events import OptionDefined
from ddpdoctor.reader.abstract import NONE, Abstract, External, Items, Known, Opaque, Table, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.formulas import number
from ddpdoctor.reader.library.kinds import NAMESPACE
from ddpdoctor.reader.library.subcommands import PARSER, new_parser, options_of
from ddpdoctor.reader.lowering import lower_optional
from ddpdoctor.reader.names import RANK_NAMES, hinted
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Package, Partial
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression


def _add_argument(walk: Walk, call: Call) -> Abstract | None:
    flags = tuple(str(known(flag)) for flag in call.args if isinstance(known(flag), str))
    parser = call.receiver
    if not flags:
        return None
    default = call.kwargs.get("default")
    action = known(call.kwargs.get("action"))
    if default is None and action in _SET_TO:
        default = Known(not _SET_TO[action])
    places = (flag.written for flag in call.args if isinstance(flag, Known))
    written = next((place for place in places if place is not None), None)
    walk.emit(OptionDefined, call.node, flags=flags, default=lower_optional(default), written=written)
    if isinstance(parser, Made):
        name = known(call.kwargs.get("dest")) or _destination(flags)
        given = option(str(name), default) if _names_a_place(walk, str(name), default) else plain(str(name), default)
        if action in _SET_TO and known(default) is _SET_TO[action] and name not in parser.attributes:
            given = Known(known(default))  # ``store_true`` with ``default=True``: no command line gives anything else
        write(parser.attributes, str(name), frozenset(), given)
    return walk.make(call, NO_TAGS)


_SET_TO: dict[object, bool] = {"store_true": True, "store_false": False}
"""What a flag makes of an option where it is given."""


def _names_a_place(walk: Walk, name: str, default: Abstract | None) -> bool:
    """Whether an option can be what its name says of the process: ``--rank`` is often that of a matrix.

    A launcher's has no default, or one that no rank of a matrix has; and where the program takes its rank from
    elsewhere, it puts it there.
    """
    if RANK_NAMES.get(name.lower()) != "rank" or (default is not None and "rank" in default.tags):
        return True
    usual = known(default)
    if isinstance(usual, (int, float, str)) and str(usual).lstrip("-").isdecimal() and int(usual) != 0:
        return int(usual) < 0
    return not walk.syntax.has_another_rank(walk.project.trees(), name)


def _destination(flags: tuple[str, ...]) -> str:
    long = next((flag for flag in flags if flag.startswith("--")), flags[0])
    return long.lstrip("-").replace("-", "_")


def option(name: str, default: Abstract | None) -> Abstract:
    """Return the value of a command-line option: the user's to give; its name says whether a launcher gives it."""
    label = f"args.{name}"
    leaf = RANK_NAMES.get(name.lower())
    if leaf is not None:
        found = hinted(name, NO_TAGS, origin="configuration", label=label)
        found.default = default
        return found
    return plain(name, default)


def plain(name: str, default: Abstract | None) -> Opaque:
    """Return the value of a command-line option whose name says nothing of the process."""
    label = f"args.{name}"
    tags = frozenset({"configuration"}) if default is None else default.tags | {"configuration"}
    expression = number(default) if default is not None and "rank" in default.tags else None
    return Opaque(label, tags, origin="configuration", default=default, expression=_varying(expression))


def _varying(expression: Expression | None) -> Expression | None:
    return None if expression is None or expression.leaves() <= {"constant"} else expression


def _set_defaults(walk: Walk, call: Call) -> Abstract | None:
    if not isinstance(call.receiver, Made) or call.receiver.path != PARSER:
        return None
    if call.open:  # ``set_defaults(**config)``: what no flag changes, the file may
        for name, cell in call.receiver.attributes.items():
            if isinstance(cell[0][1], Known):
                write(call.receiver.attributes, name, frozenset(), option(str(name), cell[0][1]))
    for name, value in call.kwargs.items():
        runs = isinstance(value, (Function, Bound, Partial, Class))  # the command's, and no option's
        write(call.receiver.attributes, name, frozenset(), value if runs else option(name, value))
    return NONE


def _parse_args(walk: Walk, call: Call) -> Abstract | None:
    namespace = walk.make(call, NO_TAGS, NAMESPACE)
    given = call.argument("namespace", 1)
    if isinstance(given, Made):
        namespace.attributes.update(given.attributes)
    if isinstance(call.receiver, Made):
        namespace.attributes.update(options_of(walk, call.receiver, call.node))
    return namespace


def _parse_known_args(walk: Walk, call: Call) -> Abstract | None:
    namespace = _parse_args(walk, call)
    return (
        None if namespace is None else Items([namespace, Opaque("further arguments", origin="configuration")], "tuple")
    )


def _group(walk: Walk, call: Call) -> Abstract | None:
    """Return the parser itself: a group's options are its parser's."""
    return call.receiver if isinstance(call.receiver, Made) else None


def _namespace(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call, NO_TAGS, NAMESPACE)
    for name, value in call.kwargs.items():
        write(made.attributes, name, frozenset(), value)
    return made


def _attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract:
    """Return an option that was defined somewhere that was not followed."""
    unknown = option(name, None)
    write(value.attributes, name, frozenset(), unknown)
    return unknown


def _vars(walk: Walk, call: Call) -> Abstract | None:
    value = call.args[0] if call.args else None
    if isinstance(value, Made) and value.path == NAMESPACE:
        return Table(value.attributes, more=True)
    if isinstance(value, (Package, External)):
        return walk.get(value, "__dict__", call.node)
    return Table(value.attributes) if value is not None and hasattr(value, "attributes") else None


def _of_the_start(path: str) -> Abstract:
    return Opaque(path, origin="configuration")


def _typed_in(walk: Walk, call: Call) -> Abstract:
    """``input("Download it? [y/n]")``: the user's to answer, and no default does."""
    return Opaque(f"what is typed in at {walk.line(call.node)}", frozenset({"configuration"}), origin="configuration")


FUNCTIONS = {
    PARSER: new_parser,
    "builtins.input": _typed_in,
    NAMESPACE: _namespace,
    "types.SimpleNamespace": _namespace,
    "builtins.vars": _vars,
}
METHODS = {
    "add_argument": _add_argument,
    "parse_args": _parse_args,
    "parse_known_args": _parse_known_args,
    "add_argument_group": _group,
    "add_mutually_exclusive_group": _group,
    "set_defaults": _set_defaults,
}
ATTRIBUTES = {NAMESPACE: _attribute}
VALUES = {path: partial(_of_the_start, path) for path in ("sys.argv", "sys.platform", "os.name")}

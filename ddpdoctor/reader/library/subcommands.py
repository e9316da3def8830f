"""Subcommands of argparse: parsers in a parser, of which the command line names one."""

import ast
from typing import TypeAlias

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import all_of, assume, negation
from ddpdoctor.reader.abstract import Abstract, Cells, Items, Known, Opaque, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import same, write
from ddpdoctor.reader.comparisons import compare
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

PARSER = "argparse.ArgumentParser"
SUBPARSERS = "argparse.subparsers"
"""What ``parser.add_subparsers()`` gives; its attributes are the parsers by the names of their commands."""
HELD = ("subparsers",)
"""The hidden attribute of a parser that holds them; no option has such a name."""
Cell: TypeAlias = list[tuple[Condition, Abstract]]
MAX_NESTED = 3
"""How deep commands are looked for in commands."""


def new_parser(walk: Walk, call: Call) -> Made:
    """``ArgumentParser(parents=[common])``: with the options of its parents."""
    parser = walk.make(call, NO_TAGS, PARSER)
    parents = call.kwargs.get("parents")
    for parent in parents.items if isinstance(parents, Items) else ():
        if isinstance(parent, Made):
            parser.attributes.update({name: list(cell) for name, cell in parent.attributes.items()})
    return parser


def _add_subparsers(walk: Walk, call: Call) -> Abstract | None:
    if not isinstance(call.receiver, Made) or call.receiver.path != PARSER:
        return None
    subparsers = walk.make(call, NO_TAGS, SUBPARSERS)
    write(call.receiver.attributes, HELD, ALWAYS, subparsers)
    return subparsers


def _add_parser(walk: Walk, call: Call) -> Abstract | None:
    name = call.argument("name", 0)
    if not isinstance(call.receiver, Made) or call.receiver.path != SUBPARSERS:
        return None
    parser = new_parser(walk, call)
    write(call.receiver.attributes, known(name, len(call.receiver.attributes)), ALWAYS, parser)
    return parser


def options_of(walk: Walk, parser: Made, node: ast.AST, depth: int = MAX_NESTED) -> Cells:
    """Return what parsing the command line gives: the parser's own options, and those of the command it names.

    What several commands give, such as the function that ``set_defaults`` names, is each one's under the test of the
    command.
    """
    found: Cells = {name: list(cell) for name, cell in parser.attributes.items() if name != HELD}
    cell = parser.attributes.get(HELD)
    subparsers = cell[-1][1] if cell else None
    if not isinstance(subparsers, Made) or depth == 0:
        return found
    command = _named(walk, subparsers)
    dest = known(subparsers.kwargs.get("dest"))
    if isinstance(dest, str):
        write(found, dest, ALWAYS, command)
    commands = [(name, one) for name, held in subparsers.attributes.items() if isinstance(one := held[-1][1], Made)]
    given = [options_of(walk, one, node, depth - 1) for _, one in commands]
    tests = [compare(walk, command, ast.Eq(), Known(name), node) for name, _ in commands]
    for i, options in enumerate(given):
        chosen = all_of(test if j == i else negation(test) for j, test in enumerate(tests))
        for option, cell in options.items():
            others = [other[option] for other in given if option in other]
            if len(cell) == 1 and not cell[0][0] and all(_alike(cell, other) for other in others):
                found[option] = list(cell)
                continue
            for when, value in cell:
                here = assume(when, chosen)
                if here is not None:
                    write(found, option, here, value)
    return found


def _named(walk: Walk, subparsers: Made) -> Opaque:
    dest = known(subparsers.kwargs.get("dest"))
    name = f"args.{dest}" if isinstance(dest, str) else f"command in {walk.line(subparsers.node or ast.Pass())}"
    return Opaque(name, frozenset({"configuration"}), origin="configuration")


def _alike(cell: Cell, other: Cell) -> bool:
    """Whether two commands have an option of one name and one default."""
    if len(other) != 1:
        return False
    one, two = cell[0][1], other[0][1]
    return same(one, two) or (isinstance(one, Opaque) and isinstance(two, Opaque) and lower(one) == lower(two))


METHODS = {"add_subparsers": _add_subparsers, "add_parser": _add_parser}

"""Command lines that libraries make of functions: click, typer, fire, absl, and parsers that fill dataclasses."""

import ast
from collections.abc import Iterator

from ddpdoctor.atom import ALWAYS
from ddpdoctor.condition import negation
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, External, Items, Known, Table, is_none, known
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.library.configuration import option
from ddpdoctor.reader.library.configurations import hydra_main
from ddpdoctor.reader.objects import Bound, Class, Function, Made, Object, Partial
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

GROUP = "click.group"
TYPER = "typer.Typer"
COMMAND = "command of a group"
"""What ``group.command()`` gives: a decorator that adds a function to the group in its first argument."""
COMMANDS = "commands"
"""The hidden attribute of a group that holds its commands."""
MAX_COMMANDS = 12


def decorated(walk: Walk, decorator: Abstract, value: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    """Return what a decorator of a command line's makes of a function."""
    path = decorator.path if isinstance(decorator, (External, Made)) else ""
    if isinstance(decorator, Attribute) and _is_group(decorator.receiver) and decorator.name == "command":
        _add(decorator.receiver, value)
    elif isinstance(decorator, Made) and path == COMMAND:
        _add(decorator.args[0], value)
    elif isinstance(decorator, Made) and path in ("click.option", "click.argument") and isinstance(value, Function):
        name, given = _click_option(decorator)
        value.options[name] = given
    elif isinstance(decorator, Made) and path == "hydra.main" and isinstance(value, Function):
        hydra_main(walk, decorator, value)
    elif path == GROUP:
        return walk.make(Call((value,), {}, node, frame), NO_TAGS, GROUP)
    return value


def _is_group(value: Abstract) -> bool:
    return isinstance(value, Made) and value.path in (GROUP, TYPER)


def _add(group: Abstract, function: Abstract) -> None:
    if isinstance(group, Made):
        commands = group.attributes.setdefault(COMMANDS, [(ALWAYS, Items([]))])[-1][1]
        if isinstance(commands, Items):
            commands.items.append(function)


def _click_option(decorator: Made) -> tuple[str, Abstract]:
    """Return the parameter that ``@click.option`` fills, and what it gives: ``--shuffle/--no-shuffle`` is shuffle."""
    flags = [str(known(arg)) for arg in decorator.args if isinstance(known(arg), str)]
    named = [flag for flag in flags if not flag.startswith("-")]
    long = [flag for flag in flags if flag.startswith("--")]
    name = (named or long or flags or ["-"])[0].partition("/")[0].lstrip("-").replace("-", "_")
    default = decorator.kwargs.get("default")
    if default is None and known(decorator.kwargs.get("is_flag")) is True:
        default = Known(False)
    return name.lower(), option(name.lower(), default)


def _command(walk: Walk, call: Call) -> Abstract | None:
    """``group.command()``: a decorator; ``app.command()(function)`` adds it at once."""
    if call.receiver is None or not _is_group(call.receiver):
        return None
    return walk.make(call._replace(args=(call.receiver,)), NO_TAGS, COMMAND)


def _added(walk: Walk, call: Call) -> Abstract | None:
    """``group.add_command(function)``, ``app.add_typer(other)``, ``app.command()(function)``."""
    group = call.receiver
    if isinstance(group, Made) and group.path == COMMAND:
        group = group.args[0]
    if group is None or not _is_group(group) or not call.args:
        return None
    _add(group, call.args[0])
    return call.args[0]


def _run_group(walk: Walk, call: Call) -> Abstract:
    group = call.receiver
    assert isinstance(group, Made)
    first = group.args[0] if group.args and group.path == GROUP else None
    if isinstance(first, (Function, Bound)):
        walk.call(first, call._replace(args=(), kwargs={}, open=True))
    cell = group.attributes.get(COMMANDS)
    commands = cell[-1][1] if cell else None
    run_one_of(walk, call, commands.items if isinstance(commands, Items) else [])
    return NONE


def run_one_of(walk: Walk, call: Call, commands: list[Abstract]) -> None:
    """Run the commands of which the user names one: no two of them in one run."""
    before = walk.path
    rest = before
    for i, command in enumerate(commands[:MAX_COMMANDS]):
        chosen = walk.literal(f"command {i} in {walk.line(call.node)} is called")
        walk.path = rest if len(commands) == 1 else walk.assuming(chosen) or rest
        walk.call(command, call._replace(args=(), kwargs={}, open=True))
        walk.path = rest
        walk.dead = False
        if len(commands) > 1:
            rest = walk.assuming(negation(chosen)) or rest
            walk.path = rest
    walk.path = before


def _fire(walk: Walk, call: Call) -> Abstract:
    """``fire.Fire(component)``: a function, a class or object with its methods, a dictionary, or the whole script."""
    component = call.argument("component", 0)
    if component is None or is_none(component):
        component = Table({name: cell for name, cell in call.frame.module.cells.items() if _is_own(call, cell[-1][1])})
    if isinstance(component, Class):
        component = walk.call(component, call._replace(args=(), kwargs={}, open=True))
    run_one_of(walk, call, list(_commands_in(walk, component)))
    return NONE


def _is_own(call: Call, value: Abstract) -> bool:
    return isinstance(value, Function) and value.module is call.frame.module


def _commands_in(walk: Walk, component: Abstract) -> Iterator[Abstract]:
    if isinstance(component, Table):
        values = [read(cell, walk.path) for cell in component.cells.values()]
        yield from (value for value in values if isinstance(value, (Function, Bound, Partial, Class)))
    elif isinstance(component, Object):
        methods = (name for cls in component.cls.resolution() for name in cls.attributes if isinstance(name, str))
        for name in dict.fromkeys(name for name in methods if not name.startswith("_")):
            method = class_attribute(walk, component.cls, name)
            if isinstance(method, Function) and method.kind == "function" and method.node not in walk.called:
                yield Bound(method, component)
    elif isinstance(component, (Function, Bound, Partial)):
        yield component


def _flag(walk: Walk, call: Call) -> Abstract:
    """``flags.DEFINE_integer(name, default, help)``: absl gives it as an attribute of ``FLAGS``."""
    name, default = known(call.argument("name", 0)), call.argument("default", 1)
    given = option(str(name), default)
    walk.patched[f"absl.flags.FLAGS.{name}"] = [(ALWAYS, given)]
    holder = walk.make(call, NO_TAGS, "absl.flags.FlagHolder")
    holder.attributes["value"] = [(ALWAYS, given)]
    return holder


def _filled(walk: Walk, call: Call) -> Abstract | None:
    """``HfArgumentParser(Options).parse_args_into_dataclasses()``: an object of each class, from the command line."""
    parser = call.receiver
    given = parser.argument("dataclass_types", 0) if isinstance(parser, Made) else None
    classes = given.items if isinstance(given, Items) else [given]
    made = [walk.call(cls, call._replace(args=(), kwargs={}, open=True)) for cls in classes if isinstance(cls, Class)]
    return Items(made, "tuple") if made else None


FUNCTIONS = {"fire.Fire": _fire}
PREFIXES = {"absl.flags.DEFINE_": _flag}
CALLED = {GROUP: _run_group, TYPER: _run_group, COMMAND: _added}
METHODS = {
    **{f"{path}.command": _command for path in (GROUP, TYPER)},
    **{f"{GROUP}.add_command": _added, f"{TYPER}.add_typer": _added},
    **{
        f"{parser}.{name}": _filled
        for parser in ("transformers.HfArgumentParser", "trl.TrlParser")
        for name in ("parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file")
    },
}

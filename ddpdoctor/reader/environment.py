"""Environment variables: what launchers set, what the script reads and writes."""

import ast

from ddpdoctor.atom import ALWAYS, Formula
from ddpdoctor.condition import any_of, as_formula
from ddpdoctor.events import ANY_VARIABLE, EnvRead, EnvSet
from ddpdoctor.reader.abstract import NONE, Abstract, External, Known, Opaque, Table, derived, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import choice, read, write
from ddpdoctor.reader.formulas import number
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.tags import NO_TAGS, Tags
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import LAUNCH_VARIABLES, Expression, constant

RANK_VARIABLES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "PMI_LOCAL_RANK",
        "GROUP_RANK",
        "NODE_RANK",
        "ROLE_RANK",
    }
)
SAME_AS = {
    "OMPI_COMM_WORLD_RANK": "rank",
    "PMI_RANK": "rank",
    "PMIX_RANK": "rank",
    "MV2_COMM_WORLD_RANK": "rank",
    "ROLE_RANK": "rank",
    "OMPI_COMM_WORLD_LOCAL_RANK": "local_rank",
    "MV2_COMM_WORLD_LOCAL_RANK": "local_rank",
    "MPI_LOCALRANKID": "local_rank",
    "PMI_LOCAL_RANK": "local_rank",
    "NODE_RANK": "node",
    "PMI_SIZE": "world_size",
    "OMPI_COMM_WORLD_SIZE": "world_size",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "local_world_size",
}
"""What the variables of launchers mean that are no launch world of their own, and what people name the node by."""


def read_variable(walk: Walk, key: Abstract, default: Abstract | None, node: ast.AST) -> Abstract:
    """Return the value of an environment variable: what the script wrote, else what its launcher gives each rank."""
    name = known(key)
    if not isinstance(name, str):
        return Opaque(f"os.environ[{text(key)}]", key.tags, origin="environment")
    walk.emit(EnvRead, node, name=name)
    outside = _given(name, default)
    written = walk.environment.get(name)
    if written is None:
        return outside
    if any(not when for when, _ in written):
        return read(written, walk.path)
    return read([(frozenset(), outside), *written], walk.path)


def is_set_to(walk: Walk, name: str, value: str) -> Formula:
    """Return the formula under which the script has set an environment variable to a value."""
    written = walk.environment.get(name)
    held = options(read([(ALWAYS, NONE), *written], walk.path)) if written else ()
    return any_of(as_formula(when) for when, one in held if known(one) == value)


def _given(name: str, default: Abstract | None) -> Abstract:
    written = known(default)
    fallback = constant(written) if isinstance(written, str) else None if default is None else number(default)
    tags: Tags = frozenset({"rank"}) if name in RANK_VARIABLES else NO_TAGS
    origin = "rank" if tags else "environment"
    expression: Expression | None = None
    if name in LAUNCH_VARIABLES:
        bare = Expression("environment", (name, None))
        expression = bare if fallback is None else derived("environment", name, fallback)
    elif name in SAME_AS:
        expression = Expression(SAME_AS[name])
    if name in ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"):
        tags = frozenset({"world"})
    if default is not None and expression is None and not is_none(default):
        label = f"os.environ.get({name!r}, {text(default)})"
        return Opaque(label, default.tags, origin="environment", default=default)
    return Opaque(f"os.environ[{name!r}]", tags, origin=origin, default=default, expression=expression)


def write_variable(walk: Walk, key: Abstract, value: Abstract, node: ast.AST, *, fallback: bool = False) -> None:
    """Record that the script writes an environment variable; ``fallback``: only if it is not set."""
    name = known(key)
    if not isinstance(name, str):
        walk.emit(EnvSet, node, name=ANY_VARIABLE, value=lower(value), fallback=fallback)
        return
    walk.emit(EnvSet, node, name=name, value=lower(value), fallback=fallback)
    if fallback and name in LAUNCH_VARIABLES:
        return  # the launcher's value stands where there is one
    if isinstance(value, Known) and not isinstance(value.value, str):
        value = Known(str(value.value), value.written)
    write(walk.environment, name, walk.path, value)


def _get(walk: Walk, call: Call) -> Abstract | None:
    key = call.argument("key", 0)
    if key is None:
        return None
    return choice(
        (when, read_variable(walk, option, call.argument("default", 1) or NONE, call.node))
        for when, option in options(key)
    )


def _setdefault(walk: Walk, call: Call) -> Abstract | None:
    if len(call.args) < 2:
        return None
    write_variable(walk, call.args[0], call.args[1], call.node, fallback=True)
    return read_variable(walk, call.args[0], call.args[1], call.node)


def _update(walk: Walk, call: Call) -> Abstract:
    for given in call.args:
        if isinstance(given, Table):
            for key, cell in given.cells.items():
                write_variable(walk, Known(key), read(cell, walk.path), call.node)
        if not isinstance(given, Table) or given.open:
            write_variable(walk, given, NONE, call.node)
    for name, value in call.kwargs.items():
        write_variable(walk, Known(name), value, call.node)
    return NONE


def _putenv(walk: Walk, call: Call) -> Abstract:
    if len(call.args) == 2:
        write_variable(walk, call.args[0], call.args[1], call.node)
    return NONE


def _pop(walk: Walk, call: Call) -> Abstract | None:
    return read_variable(walk, call.args[0], call.argument("default", 1), call.node) if call.args else None


def _copy(walk: Walk, call: Call) -> Abstract:
    return External("os.environ.copy()")


FUNCTIONS = {
    "os.getenv": _get,
    "os.environ.get": _get,
    "os.environ.setdefault": _setdefault,
    "os.environ.update": _update,
    "os.environ.pop": _pop,
    "os.environ.copy": _copy,
    "os.putenv": _putenv,
}

"""The ways a script can be launched, and what each rank knows there.

A condition such as ``rank % torch.cuda.device_count() == 0`` is judged by asking, for every rank of every
launch world, whether it holds there: see :func:`evaluate` and :data:`WORLDS`.
"""

import operator
from collections.abc import Callable
from typing import Any

from ddpdoctor.named import NamedTuple

UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN"})()


class Expression(NamedTuple):
    """A value that each rank can work out from what its launcher gave it: an operator over operands.

    Leaves: ``constant``, ``rank``, ``local_rank``, ``node``, ``world_size``, ``local_world_size``,
    ``initialized``, ``environment`` (name, default), ``environment_has`` (name) and ``unknown`` (text). In what a loop
    counts also ``round`` (the loop's place: 0 in its first round), ``counter`` (a name, and whether it is also set
    anew: a number that rounds change in a way that is not followed) and ``named`` (a text: a number that rounds leave
    as it is); ``sized`` holds an expression of such names, for where it stands beside a count, and ``either`` several
    of which one is meant.
    """

    operator: str
    operands: tuple[Any, ...] = ()

    def leaves(self) -> frozenset[str]:
        """Return the names of the leaves this expression is made of."""
        if self.operator in LEAVES:
            return frozenset({self.operator})
        return frozenset().union(*(operand.leaves() for operand in self.operands if isinstance(operand, Expression)))


LEAVES = frozenset(
    (
        "constant",
        "rank",
        "local_rank",
        "node",
        "world_size",
        "local_world_size",
        "initialized",
        "environment",
        "environment_has",
        "unknown",
        "round",
        "counter",
        "named",
    )
)
COUNTS = frozenset({"round", "counter"})
"""The leaves that differ from one round of a loop to the next."""


class Member(NamedTuple):
    """One process of a launch world: its global rank, its rank on its node, its node, and the sizes."""

    launcher: str
    rank: int
    local_rank: int
    node: int
    world_size: int
    local_world_size: int

    def environment(self) -> dict[str, str]:
        """Return the variables by which this member's launcher tells a process its place."""
        if self.launcher == "torchrun":
            return {
                "RANK": str(self.rank),
                "LOCAL_RANK": str(self.local_rank),
                "GROUP_RANK": str(self.node),
                "WORLD_SIZE": str(self.world_size),
                "LOCAL_WORLD_SIZE": str(self.local_world_size),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "29500",
                "TORCHELASTIC_RUN_ID": "none",
            }
        if self.launcher == "slurm":
            return {
                "SLURM_PROCID": str(self.rank),
                "SLURM_LOCALID": str(self.local_rank),
                "SLURM_NODEID": str(self.node),
                "SLURM_NTASKS": str(self.world_size),
                "SLURM_NPROCS": str(self.world_size),
                "SLURM_NTASKS_PER_NODE": str(self.local_world_size),
                "SLURM_JOB_ID": "1",
            }
        return {}


def _world(launcher: str, nodes: int, per_node: int) -> tuple[Member, ...]:
    size = nodes * per_node
    return tuple(
        Member(launcher, node * per_node + local, local, node, size, per_node)
        for node in range(nodes)
        for local in range(per_node)
    )


SINGLE = _world("single", 1, 1)
WORLDS: dict[str, tuple[Member, ...]] = {
    "spawn": _world("spawn", 1, 4),
    "torchrun": _world("torchrun", 2, 2),
    "slurm": _world("slurm", 2, 2),
}
"""The distributed launch worlds; two nodes where the launcher can have them, so that global and local differ."""

LAUNCH_VARIABLES = frozenset().union(*(world[0].environment() for world in WORLDS.values()))

RANK_LEAVES = frozenset({"rank", "local_rank"})


def constant(value: object) -> Expression:
    """Return the expression that has one value on every rank."""
    return Expression("constant", (value,))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "/": operator.truediv,
    "%": operator.mod,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    "is": operator.eq,
    "in": lambda item, items: item in items,
    "not": operator.not_,
    "int": int,
    "str": str,
    "bool": bool,
    "min": min,
    "max": max,
}


def is_counted(expression: Expression | None) -> bool:
    """Whether a value changes from round to round of a loop."""
    return expression is not None and not COUNTS.isdisjoint(expression.leaves())


def evaluate(expression: Expression, member: Member) -> Any:
    """Return the expression's value on one rank, or :data:`UNKNOWN`."""
    return evaluate_with(expression, lambda leaf: _of_member(leaf, member))


def evaluate_with(expression: Expression, of_leaf: Callable[[Expression], Any]) -> Any:
    """Return the expression's value given that of its leaves, or :data:`UNKNOWN`."""
    function = _OPERATORS.get(expression.operator)
    if function is None:
        return of_leaf(expression)
    values = [evaluate_with(operand, of_leaf) for operand in expression.operands]
    if any(value is UNKNOWN for value in values):
        return UNKNOWN
    try:
        return function(*values)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN


def _of_member(leaf: Expression, member: Member) -> Any:
    name, operands = leaf
    if name == "constant":
        return operands[0]
    if name in Member._fields:
        return getattr(member, name)
    if name == "initialized":
        return member.launcher != "single"
    if name == "environment":
        return _from_environment(operands[0], operands[1], member)
    if name == "environment_has":
        known = operands[0] in LAUNCH_VARIABLES
        return operands[0] in member.environment() if known else UNKNOWN
    return UNKNOWN


def _from_environment(name: str, default: Expression | None, member: Member) -> Any:
    if name not in LAUNCH_VARIABLES:
        return UNKNOWN
    value = member.environment().get(name)
    if value is not None:
        return value
    return UNKNOWN if default is None else evaluate(default, member)

"""Tests on the version of torch: what is older than the oldest one that is in use is decided."""

import ast
import re

from ddpdoctor.reader.abstract import Abstract, External, known
from ddpdoctor.reader.objects import Made

OLDEST = (2,)
"""The version that a run has at least: in the comparison with an older one, or with it, a newer one is no different."""
TORCH = frozenset({"torch.__version__", "torch.version.__version__", "torch.torch_version.__version__"})
PARSED = ("version.parse", "parse_version", "LooseVersion", "StrictVersion", "version.Version")


def of_torch_version(left: Abstract, operator: ast.cmpop, right: Abstract) -> bool | None:
    """Return what a comparison of the version of torch with another comes to, ``None`` where a newer one may differ."""
    swapped = _is_torchs(right)
    other = _numbers(left if swapped else right) if swapped or _is_torchs(left) else None
    if other is None or other > OLDEST:
        return None
    if isinstance(operator, ast.Lt):
        return (True if other < OLDEST else None) if swapped else False
    if isinstance(operator, ast.LtE):
        return True if swapped else False if other < OLDEST else None
    return False if isinstance(operator, ast.Eq) and other < OLDEST else None


def _is_torchs(value: Abstract) -> bool:
    inner = _inner(value)
    return isinstance(inner, External) and inner.path in TORCH


def _inner(value: Abstract) -> Abstract:
    """Return the text that a version was parsed from."""
    return value.args[0] if isinstance(value, Made) and value.path.endswith(PARSED) and value.args else value


def _numbers(value: Abstract) -> tuple[int, ...] | None:
    given = known(_inner(value))
    if not isinstance(given, str) or not re.fullmatch(r"\d+(\.\d+)*", given):
        return None
    numbers = [int(part) for part in given.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)

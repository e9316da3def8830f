"""Computing with a program's own constants: small ones only, and where Python would raise there is no result."""

from collections.abc import Callable
from typing import Any

MAX_BITS = 4_096
"""A larger whole number is none that training code needs, and Python itself refuses to write it out."""
MAX_LENGTH = 2_000
"""Longer texts and tuples are not computed with; those that the source spells out are kept."""

NO_RESULT: Any = type("NoResult", (), {"__repr__": lambda self: "no result"})()


def computed(function: Callable[..., Any], *values: Any) -> Any:
    """Return what a function makes of constants, or :data:`NO_RESULT` where it raises or is too large.

    The function must not make much of little: ``"x" * n`` and ``"%9999999d" % n`` are not for this.
    """
    if not all(map(is_small, values)):
        return NO_RESULT
    try:
        result = function(*values)
    except Exception:  # whatever it is, the program would raise it too
        return NO_RESULT
    return result if is_small(result) else NO_RESULT


def is_small(value: object) -> bool:
    """Whether a constant can be computed with and written out at no cost."""
    if isinstance(value, int):
        return value.bit_length() <= MAX_BITS
    return not isinstance(value, (str, bytes, tuple, list)) or len(value) <= MAX_LENGTH

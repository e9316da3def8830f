"""Calls the user's code, or PyTorch, in the place of the user's code: such a frame is nobody's fault.

An exception whose innermost frame is one of ours is a fault of ours (:mod:`ddpdoctor.harness.child.failures`), unless
that frame only passed a call on. Every patch calls what it replaced through :func:`through`.
"""

from collections.abc import Callable
from types import CodeType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def through(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return ``function(*args, **kwargs)``."""
    return function(*args, **kwargs)


def passes_on(code: CodeType) -> bool:
    """Whether a frame of this code in one of our files only passes a call on."""
    return code is through.__code__ or code.co_name == "__torch_function__"

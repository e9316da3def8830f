"""Answers in the place of functions that need a GPU, to callers outside torch."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ddpdoctor.harness.child.observer import Observer

INTERNAL = ("torch", "torchgen")
"""The packages whose own code is told the truth: ``Adam.step`` would look for the accelerator's stream."""


def from_torch(observer: Observer) -> bool:
    """Whether the function of ours that asks was called by torch's own code."""
    return str(observer.caller().f_globals.get("__name__", "")).partition(".")[0] in INTERNAL


def tell(observer: Observer, owner: Any, answers: Mapping[str, Callable[..., Any]]) -> None:
    """Replace functions by answers of ours; what an owner does not have stays absent.

    Each name gets a function object of its own: torch._dynamo refuses one that stands under two names.
    """
    for name, answer in answers.items():
        observer.patches.wrap_if_there(owner, name, partial(_told, observer, answer))


def _told(observer: Observer, answer: Callable[..., Any], original: Any) -> Any:
    def told(*args: Any, **kwargs: Any) -> Any:
        if from_torch(observer):
            return original(*args, **kwargs)
        return answer(*args, **kwargs)

    return told


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""

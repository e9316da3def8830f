"""What is remembered of the conditions of one program, until the next one is read."""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, TypeVar


class _Clearable(Protocol):
    def cache_clear(self) -> None: ...


_MEMORIES: list[_Clearable] = []

Remembered = TypeVar("Remembered", bound=Callable[..., object])


def remembered(answers: int) -> Callable[[Remembered], Remembered]:
    """Let a function remember so many of its answers, as long as the program is the same.

    Conditions are made of atoms, and those are compared by identity: about another program they say nothing.
    """

    def remembering(function: Remembered) -> Remembered:
        memory = lru_cache(maxsize=answers)(function)
        _MEMORIES.append(memory)
        return memory  # type: ignore[return-value]

    return remembering


def forget() -> None:
    """Forget everything: another program is read."""
    for memory in _MEMORIES:
        memory.cache_clear()

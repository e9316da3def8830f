"""When garbage is looked for."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MUCH_GARBAGE = 300_000
"""In objects: about what the walk of a large script leaves."""


@contextmanager
def garbage_left_lying() -> Iterator[Callable[[], None]]:
    """Let nobody look for garbage but the function that is given, which does when there is much.

    A walk needs to its end what it makes: looking for garbage in it took two fifths of the time.
    """

    def collect() -> None:
        if gc.get_count()[0] > MUCH_GARBAGE:
            gc.collect()

    collecting = gc.isenabled()
    gc.disable()
    try:
        yield collect
    finally:
        if collecting:
            gc.enable()

"""When garbage is looked for."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MUCH_GARBAGE = 3_000_000
"""In objects, the syntax trees that are kept among them: some 400 MB. A walk takes apart most of what it leaves."""


def collect() -> None:
    """Look for garbage when there is much, among what was made since the last time: a walk leaves nothing older."""
    if gc.get_count()[0] > MUCH_GARBAGE:
        gc.collect(0)


@contextmanager
def garbage_left_lying() -> Iterator[None]:
    """Let nobody look for garbage but ``collect``.

    A walk needs to its end what it makes: looking for garbage in it took two fifths of the time. Nor is it looked for
    at the end, where the process mostly ends too: what is there then is set aside until the next time.
    """
    collecting = gc.isenabled()
    gc.disable()
    gc.unfreeze()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()

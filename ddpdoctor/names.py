"""What to say of a name that a user wrote and that does not exist: the nearest one that does."""

from collections.abc import Iterable

MAX_LISTED = 8
"""So many names still fit into one line; of more, only the nearest one is named."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return one line: that there is no such name, and which one was probably meant.

    ``what`` says what it names, in the singular: ``check``, ``key`` …
    """
    from difflib import get_close_matches

    candidates = sorted(known)
    line = f"unknown {what} '{name}'"
    near = get_close_matches(name, candidates, n=1)
    if near:
        return f"{line}; did you mean '{near[0]}'?"
    if len(candidates) <= MAX_LISTED:
        return f"{line}; there are: {', '.join(candidates)}"
    return line


def split(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in texts that each hold some, separated by commas; each name once, in order."""
    return tuple(dict.fromkeys(name for text in texts for part in text.split(",") if (name := part.strip())))

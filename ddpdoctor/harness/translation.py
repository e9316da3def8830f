"""Turns paths in a throw-away copy back into the user's own."""

import json
from collections.abc import Sequence


class Translation:
    """The places of a copy, each with the original that it stands for."""

    def __init__(self, places: Sequence[Sequence[str]] = ()) -> None:
        self._plain = [(place, original) for place, original in places]
        self._encoded = [(json.dumps(place)[1:-1], json.dumps(original)[1:-1]) for place, original in places]

    def text(self, text: str) -> str:
        """Return a text with the user's own paths: the copy's lie beneath a random name, so none is met by chance."""
        for place, original in self._plain:
            text = text.replace(place, original)
        return text

    def encoded(self, line: str) -> str:
        """Return a line of JSON with the user's own paths."""
        for place, original in self._encoded:
            line = line.replace(place, original)
        return line

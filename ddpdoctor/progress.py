"""What a check-up says on the terminal while it works."""

import os
from typing import TextIO

from ddpdoctor import streams
from ddpdoctor.checkup import Voice
from ddpdoctor.report.words import terminal_width

CLEAR_LINE = "\r\x1b[K"


class Spoken(Voice):
    """Speaks on the standard error: notices always, the progress line only on a terminal that can overwrite a line."""

    def __init__(self, stream: TextIO | None) -> None:
        able = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        self._terminal = stream if able else None
        self._shown = False

    def progress(self, words: str) -> None:
        """Overwrite the progress line."""
        if self._terminal is not None:
            width = terminal_width(self._terminal) - 1  # a full last column would wrap
            self._overwrite(" ".join(words.split())[:width])

    def notice(self, line: str) -> None:
        """Write a line that stays."""
        self.clear()
        streams.say(line)

    def clear(self) -> None:
        """Take the progress line away."""
        if self._shown:
            self._overwrite("")

    def _overwrite(self, words: str) -> None:
        if self._terminal is None:
            return
        try:
            self._terminal.write(CLEAR_LINE + words)
            self._terminal.flush()
            self._shown = bool(words)
        except (OSError, ValueError):  # the terminal is gone
            self._terminal, self._shown = None, False

"""What a check-up says on the terminal while it works."""

import os
import shutil
from typing import TextIO

from ddpdoctor.checkup import Voice

CLEAR_LINE = "\r\x1b[K"


class Spoken(Voice):
    """Speaks on a stream: notices always, the progress line only on a terminal that can overwrite a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False

    def progress(self, words: str) -> None:
        """Overwrite the progress line."""
        if self._live:
            width = shutil.get_terminal_size().columns - 1  # a full last column would wrap
            self._stream.write(CLEAR_LINE + " ".join(words.split())[:width])
            self._stream.flush()
            self._shown = True

    def notice(self, line: str) -> None:
        """Write a line that stays."""
        self.clear()
        self._stream.write(f"ddpdoctor: {line}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the progress line away."""
        if self._shown:
            self._stream.write(CLEAR_LINE)
            self._stream.flush()
            self._shown = False

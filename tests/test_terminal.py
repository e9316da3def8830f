"""What a terminal gets that a pipe does not: colour, wrapped lines, the progress line."""

import io
import os

import pytest

from ddpdoctor.progress import Spoken
from ddpdoctor.report.words import style_of


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")


@pytest.mark.skipif(os.name == "nt", reason="an old console of Windows shows no colour")
@pytest.mark.parametrize(
    ("stream", "environment", "colour"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (Terminal(), {"FORCE_COLOR": "0"}, False),
        (None, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_unless_the_environment_says_otherwise(stream, environment, colour):
    assert style_of(stream, environment).colour is colour


def test_only_a_terminal_is_wrapped_to_its_width(monkeypatch):
    assert style_of(io.StringIO(), {}).width is None
    assert style_of(Terminal(), {}).width == 40
    monkeypatch.setenv("COLUMNS", "3")
    assert style_of(Terminal(), {}).width == 40  # nothing can be read in three columns
    monkeypatch.setenv("COLUMNS", "wide")
    assert style_of(Terminal(), {}).width == 80


def shown(written: str) -> str:
    """Return the line that a terminal shows at the end, as far as it matters here."""
    return written.rpartition("\r\x1b[K")[2]


def test_each_progress_line_takes_the_place_of_the_last(capsys):
    terminal = Terminal()
    voice = Spoken(terminal)
    voice.progress("importing torch, 2 s")
    assert shown(terminal.getvalue()) == "importing torch, 2 s"
    voice.progress("step 1\nof 6, " + "very " * 20)
    assert shown(terminal.getvalue()) == ("step 1 of 6, " + "very " * 20)[:39]
    voice.clear()
    assert shown(terminal.getvalue()) == ""
    assert "\n" not in terminal.getvalue()


def test_a_notice_clears_the_progress_line_and_stays(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    voice = Spoken(terminal)
    voice.progress("step 1 of 6")
    voice.notice("running train.py")
    assert shown(terminal.getvalue()) == "ddpdoctor: running train.py\n"
    voice.progress("step 2 of 6")
    voice.clear()
    assert terminal.getvalue().endswith("step 2 of 6\r\x1b[K")


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_there_is_no_progress_in_a_pipe(stream):
    voice = Spoken(stream)
    voice.progress("step 1 of 6")
    voice.clear()
    assert stream is None or stream.getvalue() == ""


def test_there_is_no_progress_on_a_dumb_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    Spoken(terminal).progress("step 1 of 6")
    assert terminal.getvalue() == ""


def test_a_terminal_that_goes_away_is_no_fault():
    terminal = Terminal()
    voice = Spoken(terminal)
    voice.progress("step 1 of 6")
    terminal.close()
    voice.progress("step 2 of 6")
    voice.clear()
    voice.progress("step 3 of 6")

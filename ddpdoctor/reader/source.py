"""Turns the bytes of a file into a syntax tree, or into the fault that kept it from being one."""

import ast
import re
import warnings

from ddpdoctor.content import decode, lines_of
from ddpdoctor.place import Place
from ddpdoctor.record import Record

MAX_BYTES = 20_000_000
"""A larger file is data that happens to end in .py: it is not read."""


class SourceFault(Record):
    """Why a file does not parse: where, in Python's words, and the likely cause where one can be told."""

    place: Place
    message: str
    cause: str | None = None


class Source(Record):
    """A parsed file: its text, and its tree or its fault.

    Of a notebook, ``cells`` has for each line of the text its cell (from 0) and its line in that cell (from 1).
    """

    file: str
    text: str
    tree: ast.Module | None
    fault: SourceFault | None = None
    cells: tuple[tuple[int, int], ...] | None = None


def load(file: str) -> Source:
    """Read and parse one file.

    Raises OSError when it cannot be read.
    """
    with open(file, "rb") as stream:
        return parse(stream.read(MAX_BYTES + 1), file)


def parse(content: bytes, file: str) -> Source:
    """Parse a file's content, decoded as Python decodes it (a BOM, a coding line, else UTF-8)."""
    if len(content) > MAX_BYTES:
        return _faulty(file, "", 1, 1, f"the file is larger than {MAX_BYTES // 1_000_000} MB", None)
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        return _faulty(file, "", line, 1, "source code cannot contain null bytes", "this is not a Python source file")
    text, problem = decode(content)
    if problem is not None:
        line = text[: text.find("\N{REPLACEMENT CHARACTER}") + 1].count("\n") + 1
        return _faulty(file, text, line, 1, problem, "save the file as UTF-8, or name its encoding in the first line")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like: the user's Python says so itself
            return Source(file=file, text=text, tree=ast.parse(text))
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        return _faulty(
            file, text, line, column, error.msg or "invalid syntax", likely_cause(text, line, error.msg or "")
        )
    except (ValueError, RecursionError, MemoryError) as error:
        cause = None if isinstance(error, ValueError) else "expressions nested deeper than Python allows"
        return _faulty(file, text, 1, 1, f"it cannot be parsed: {error}", cause)


def _faulty(file: str, text: str, line: int, column: int, message: str, cause: str | None) -> Source:
    place = Place(file, line, column, line, column)
    return Source(file=file, text=text, tree=None, fault=SourceFault(place=place, message=message, cause=cause))


CURLY = "\u2018\u2019\u201c\u201d\u201e\u2033\u2032\u00ab\u00bb"
SPACES = "\u00a0\u2002\u2003\u2009\u200b\u202f\u3000\ufeff"


def likely_cause(text: str, line: int, message: str) -> str | None:
    """Return what most likely broke a file at a line: the damage of a web page, mostly."""
    lines = lines_of(text)
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    nearby = "\n".join(lines[max(0, line - 2) : line])
    for pattern, cause in _DAMAGE:
        if re.search(pattern, here if pattern.startswith("^") else nearby):
            return cause
    if "inconsistent use of tabs" in message:
        return "tabs and spaces are mixed in the indentation"
    if "indent" in message:
        return "the indentation is broken, as it is when code is copied from a web page"
    if re.search(r"^\s*print\s+[\"'\w]", here) or re.search(r"^\s*except\s+\w[\w.]*\s*,", here):
        return "this is Python 2"
    if re.match(r"^\s*(?:[#•✅-]\s*)?[A-Z]?[a-z\u2019']+(?:[ ,]+[A-Za-z\u2019'-]+){3,}[.:!?]?\s*(?:#.*)?$", here):
        return "prose was copied along with the code"
    if "expected" in message and re.match(r"^\s*(type|match|case)\b", here):
        return "this needs a newer Python"
    return None


_DAMAGE = (
    (f"[{CURLY}]", "curly quotes: the code was copied from a page that turned its quotes into typographic ones"),
    (f"[{SPACES}]", "invisible spaces (U+00A0 or the like): the code was copied from a web page"),
    (r"&(?:lt|gt|amp|quot|#39);", "HTML entities: the code was copied from a page's source"),
    (r"^\s*(?:>>>|\.\.\.|In \[\d+\]:)\s", "an interpreter's prompt was copied along with the code"),
    (r"^\s*\d+\s{1,4}[A-Za-z_@#]", "line numbers were copied along with the code"),
    (r"^(?:<<<<<<<|=======|>>>>>>>)", "an unresolved merge conflict"),
    (r"\\[_*#\[\]]", "Markdown's backslashes: the code was copied out of its source"),
    (r"^\s*```", "a Markdown fence was copied along with the code"),
    ("[\u2013\u2014\u2212]", "a dash that is no minus sign: the code was copied from a page that turned it into one"),
)

"""Turns the bytes of a file into a syntax tree, or into the fault that kept it from being one."""

import ast
import os
import re
import sys
import warnings

from ddpdoctor.content import decode, lines_of, read_file
from ddpdoctor.place import Place
from ddpdoctor.reader.nested_quotes import for_older_python
from ddpdoctor.reader.shelf import Shelf
from ddpdoctor.record import Record

MAX_BYTES = 4_000_000
"""A larger file is data that happens to end in .py: it is not parsed, which takes 250 times as much memory."""

MAX_KEPT = 6_000_000
"""The trees of so many bytes are kept for further programs: forty times as much memory."""


class SourceFault(Record):
    """Why a file does not parse: where, in Python's words, and the likely cause where one can be told.

    ``unread`` is a file that was not parsed because it is too large.
    """

    place: Place
    message: str
    cause: str | None = None
    unread: bool = False


class Source(Record):
    """A parsed file: its text, and its tree or its fault.

    What stands in a notebook has its path in ``notebook``, and in ``cells`` for each line of the text its cell (from 0)
    and its line in that cell (from 1); ``file`` is the notebook too, or the file that a cell writes.
    """

    file: str
    text: str
    tree: ast.Module | None
    fault: SourceFault | None = None
    notebook: str | None = None
    cells: tuple[tuple[int, int], ...] | None = None


def load(file: str) -> Source:
    """Read and parse one file, once until it has changed.

    Raises OSError when it cannot be read.
    """
    status = os.stat(file)
    return _LOADED.get(
        (file, status.st_mtime_ns, status.st_size), status.st_size, lambda: parse(read_file(file, MAX_BYTES), file)
    )


def parse(content: bytes, file: str) -> Source:
    """Parse a file's content, decoded as Python decodes it (a BOM, a coding line, else UTF-8).

    It is parsed once for all the programs that it is part of: nobody may change a tree.
    """
    return _PARSED.get((file, content), len(content), lambda: _parsed(content, file))


_PARSED = Shelf[Source](MAX_KEPT)
_LOADED = Shelf[Source](MAX_KEPT)


def _parsed(content: bytes, file: str) -> Source:
    if len(content) > MAX_BYTES:
        return unread(content, file, MAX_BYTES)
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        return _faulty(file, "", line, 1, "source code cannot contain null bytes", "this is not a Python source file")
    text, problem = decode(content)
    if problem is not None:
        line = text[: text.find("\N{REPLACEMENT CHARACTER}") + 1].count("\n") + 1
        return _faulty(file, text, line, 1, problem, "save the file as UTF-8, or name its encoding in the first line")
    try:
        return Source(file=file, text=text, tree=_tree(text))
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        return _faulty(
            file, text, line, column, error.msg or "invalid syntax", likely_cause(text, line, error.msg or "")
        )
    except (ValueError, RecursionError, MemoryError) as error:
        cause = None if isinstance(error, ValueError) else "expressions nested deeper than Python allows"
        return _faulty(file, text, 1, 1, f"it cannot be parsed: {error}", cause)


def _tree(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like: the user's Python says so itself
        try:
            return ast.parse(text)
        except SyntaxError:
            older = for_older_python(text) if sys.version_info < (3, 12) else None
            if older is None:
                raise
            try:
                return ast.parse(older)
            except SyntaxError:
                pass  # what is wrong is told of the text as it was written
            raise


def unread(content: bytes, file: str, most: int) -> Source:
    """Return the source of a file that is too large to be parsed."""
    message = f"the file is larger than {most // 1_000_000} MB and was not read"
    fault = SourceFault(place=Place(file, 1, 1, 1, 1), message=message, unread=True)
    return Source(file=file, text=content.decode("latin-1"), tree=None, fault=fault)


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
    if re.search(r"^\s*print\s+[\"'\w]", here) or re.search(r"^\s*except\s+\w[\w.]*\s*,\s*[a-z_]", here):
        return "this is Python 2"
    if re.match(r"^\s*(?:[#•✅-]\s*)?[A-Z]?[a-z\u2019']+(?:[ ,]+[A-Za-z\u2019'-]+){3,}[.:!?]?\s*(?:#.*)?$", here):
        return "prose was copied along with the code"
    return _newer_python(here, message)


def _newer_python(line: str, message: str) -> str | None:
    for version, pattern in _NEWER:
        if sys.version_info < version and re.search(pattern, line):
            return _needs(version)
    if sys.version_info < (3, 12) and message.startswith("f-string:"):
        return _needs((3, 12))  # quotes, comments and backslashes inside the braces: PEP 701
    return None


def _needs(version: tuple[int, int]) -> str:
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"this needs Python {version[0]}.{version[1]}; ddpdoctor runs under {running}"


_NEWER = (
    ((3, 11), r"^\s*except\s*\*"),
    ((3, 11), r"[\w\])]\[\s*\*\s*\w"),
    ((3, 11), r"\*\w+\s*:\s*\*"),
    ((3, 13), r"^\s*(?:(?:async\s+)?def|class|type)\s+\w+\s*\[[^\]]*\w\s*="),
    ((3, 12), r"^\s*(?:(?:async\s+)?def|class)\s+\w+\s*\["),
    ((3, 12), r"^\s*type\s+\w+\s*(?:\[.*\])?\s*="),
    ((3, 14), r"^\s*except\s+[A-Z][\w.]*(?:\s*,\s*[A-Z][\w.]*)+\s*:"),
    ((3, 14), r"\b(?:[tT][rR]?|[rR][tT])[\"']"),
)
"""What a line looks like that only a Python of a version or a newer one parses."""


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

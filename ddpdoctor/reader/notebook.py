"""Notebooks: their cells in order are one program, and each ``%%writefile`` cell is a program of its own."""

import ast
import re
import warnings

from ddpdoctor.content import decode
from ddpdoctor.place import Place
from ddpdoctor.reader.source import Source, SourceFault, unread

MAX_NOTEBOOK_BYTES = 64_000_000
"""Notebooks hold the pictures that they have drawn."""

Line = tuple[str, int, int]
"""A line of code with its cell (from 0, all cells counted) and its line in that cell (from 1)."""

_WRITTEN = re.compile(r"%%(?:writefile|file)\s+(?:-a\s+)?\S+\.py\b")
_TRANSPARENT = re.compile(r"%%(?:time|timeit|capture|prun|memit)\b")
_ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*")
_MAGIC = re.compile(r"^(\s*)(?:[!%?]|\w+\?\??\s*$).*")


def load_notebook(content: bytes, file: str) -> tuple[Source, ...]:
    """Return the programs in a notebook; a cell that does not parse is left out, as it was never run as it stands."""
    if len(content) > MAX_NOTEBOOK_BYTES:
        return (unread(content, file, MAX_NOTEBOOK_BYTES),)
    import json  # only here: no script needs it

    try:
        cells = json.loads(decode(content)[0])["cells"]
        sources = [_text(cell) if cell.get("cell_type") == "code" else "" for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        place = Place(file, 1, 1, 1, 1)
        return (Source(file=file, text="", tree=None, fault=SourceFault(place=place, message="it is no notebook")),)
    main: list[Line] = []
    programs = [main]
    for number, text in enumerate(sources):
        lines = text.split("\n")
        first = next((line for line in lines if line.strip()), "")
        if first.startswith("%%") and not _TRANSPARENT.match(first) and not _WRITTEN.match(first):
            continue
        code = [(_without_magic(line), number, i) for i, line in enumerate(lines, 1)]
        if not _parses(code):
            continue
        if _WRITTEN.match(first):
            programs.append(code)
        else:
            main.extend(code)
    return tuple(_source(program, file) for program in programs if any(line.strip() for line, _, _ in program))


def _text(cell: dict[str, object]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(map(str, source)) if isinstance(source, list) else ""


def _without_magic(line: str) -> str:
    """Return a line with what only IPython understands taken out."""
    assigned = _ASSIGNED.match(line)
    if assigned:
        return assigned.group(1) + "None"
    magic = _MAGIC.match(line)
    return magic.group(1) + "pass" if magic else line


def _parses(code: list[Line]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(line for line, _, _ in code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _source(program: list[Line], file: str) -> Source:
    text = "\n".join(line for line, _, _ in program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return Source(file=file, text=text, tree=tree, cells=tuple((cell, line) for _, cell, line in program))

"""Notebooks: their cells in order are one program, and what a ``%%writefile`` cell writes is one of its own."""

import ast
import os
import re
import warnings
from typing import Any

from ddpdoctor.content import decode
from ddpdoctor.place import Place
from ddpdoctor.reader.source import Source, SourceFault, unread

MAX_NOTEBOOK_BYTES = 64_000_000
"""Notebooks hold the pictures that they have drawn."""

Line = tuple[str, int, int]
"""A line of code with its cell (from 0, all cells counted) and its line in that cell (from 1)."""

_WRITTEN = re.compile(r"%%(?:writefile|file)\s+(?P<options>(?:-\S+\s+)*)[\"']?(?P<path>[^\s\"']+\.py)\b")
_TRANSPARENT = re.compile(r"%%(?:time|timeit|capture|prun|memit|lprun)\b")
_PYTHON = re.compile(r"%%(?:script\s+(?:\S*/)?)?(?:python3?|pypy3?)\b")
_ASSIGNED = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*")
_LINE_OF_CODE = re.compile(r"^(\s*)%(?:time|timeit|prun|memit|lprun)\s+(?:-\S+\s+\S*\s*)*(?=[A-Za-z_(\[])")
_MAGIC = re.compile(r"^(\s*)(?:[!%?]|\w+\?\??\s*$).*")


def load_notebook(content: bytes, file: str) -> tuple[Source, ...]:
    """Return the programs in a notebook: first its cells of code, then each file of Python that a cell writes.

    A cell that does not parse is left out, as it was never run as it stands.
    """
    if len(content) > MAX_NOTEBOOK_BYTES:
        return (unread(content, file, MAX_NOTEBOOK_BYTES),)
    import json  # only here: no script needs it

    try:
        sources = [_text(cell) for cell in _cells(json.loads(decode(content)[0]))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        place = Place(file, 1, 1, 1, 1)
        return (Source(file=file, text="", tree=None, fault=SourceFault(place=place, message="it is no notebook")),)
    programs: dict[str, list[Line]] = {file: []}
    for number, text in enumerate(sources):
        first = next((line for line in text.split("\n") if line.strip()), "")
        written = _WRITTEN.match(first)
        name = file
        if written:
            name = os.path.normpath(os.path.join(os.path.dirname(file), written["path"]))
        elif first.startswith("%%") and _PYTHON.match(first):
            name = f"{file}:{number}"  # a process of its own
        elif first.startswith("%%") and not _TRANSPARENT.match(first):
            continue
        lines = _code(text, magics=not written)
        if lines is None:
            continue
        if written and "-a" not in written["options"].split():
            if programs.get(name) and _is_run(sources[programs[name][-1][1] + 1 : number], name):
                programs[f"{name}:{programs[name][0][1]}"] = programs[name]  # a program of its own
            programs[name] = []  # the last one is what is imported
        programs.setdefault(name, []).extend((line, number, i) for i, line in enumerate(lines, 1))
    return tuple(
        _source(program, name, file)
        for name, program in programs.items()
        if any(line.strip() for line, _, _ in program)
    )


def _is_run(cells: list[str], file: str) -> bool:
    """Whether a cell speaks of a file that another one has written: ``!torchrun train.py``."""
    return any(os.path.basename(file) in text for text in cells)


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells; until format 4 (2014) they lay in worksheets."""
    if "cells" in notebook:
        return list(notebook["cells"])
    return [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]


def _text(cell: dict[str, object]) -> str:
    if cell.get("cell_type") != "code":
        return ""
    source = cell.get("source", cell.get("input", ""))
    return source if isinstance(source, str) else "".join(map(str, source)) if isinstance(source, list) else ""


def _code(text: str, *, magics: bool) -> list[str] | None:
    """Return the lines of a cell as Python; ``None`` when they are none.

    Where ``%%`` or ``!`` begins a line, that is IPython's only if Python cannot read it: ``%`` is an operator too, and
    a line of a string can begin with anything.
    """
    lines = text.split("\n")
    at = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[at].startswith("%%"):
        lines[at] = ""
    if _parses(lines):
        return lines
    plain = _without_magics(lines)
    return plain if magics and _parses(plain) else None


def _without_magics(lines: list[str]) -> list[str]:
    """Return lines with what only IPython understands taken out, each line that goes on with a backslash with it."""
    plain = []
    continued = False
    for line in lines:
        if continued:
            plain.append("")
        else:
            plain.append(_without_magic(line))
        goes_on = line.rstrip().endswith("\\")
        continued = goes_on and (continued or plain[-1] != line)
    return plain


def _without_magic(line: str) -> str:
    timed = _LINE_OF_CODE.match(line)
    if timed:
        return timed.group(1) + line[timed.end() :]
    assigned = _ASSIGNED.match(line)
    if assigned:
        return assigned.group(1) + "None"
    magic = _MAGIC.match(line)
    return magic.group(1) + "pass" if magic else line


def _parses(lines: list[str]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _source(program: list[Line], file: str, notebook: str) -> Source:
    text = "\n".join(line for line, _, _ in program)
    cells = tuple((cell, line) for _, cell, line in program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    return Source(file=file, text=text, tree=tree, notebook=notebook, cells=cells)

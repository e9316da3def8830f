"""The configuration: ``[tool.ddpdoctor]`` in the nearest pyproject.toml that has it."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ddpdoctor import names
from ddpdoctor.checkup import Configuration
from ddpdoctor.content import read_file
from ddpdoctor.finding import Confidence, Severity
from ddpdoctor.status import FAIL_ON, MisuseError

Rank = TypeVar("Rank", Severity, Confidence)

MOST_BYTES = 1_000_000
FEWEST_RANKS = 2
"""One rank shows nothing of what goes wrong between ranks."""


class ConfigurationError(MisuseError):
    """A configuration cannot be used; the message is one line and names its file."""


def severity_to_fail_on(name: str) -> Severity | None:
    """Return what ``fail-on`` names: a severity, or ``None`` for never."""
    return None if name == "never" else Severity(name)


def load(folder: str, checks: Callable[[], frozenset[str]]) -> Configuration:
    """Return the configuration that holds for a folder (absolute); the defaults where no file has one.

    ``checks`` names all checks and is asked only when the configuration names some.
    Raises ConfigurationError.
    """
    for file in _candidates(folder):
        content = _content(file)
        # Reading TOML takes longer than reading a script: most files are passed over for want of the words alone.
        if content is None or b"ddpdoctor" not in content or not re.search(_TABLE, content):
            continue
        table = _table(file, content)
        if table is not None:
            try:
                return _configuration(table, file, content.decode("utf-8", "replace"), checks)
            except ValueError as error:
                raise ConfigurationError(f"{os.path.relpath(file)}: [tool.ddpdoctor]: {error}") from None
    return Configuration()


_TABLE = rb"""tool["']?\s*\.\s*["']?ddpdoctor|(?m:^\s*(?:\[\s*["']?tool["']?\s*\]|["']?tool["']?\s*=))"""


def _candidates(folder: str) -> "list[str]":
    found = []
    while True:
        found.append(os.path.join(folder, "pyproject.toml"))
        parent = os.path.dirname(folder)
        if parent == folder:
            return found
        folder = parent


def _content(file: str) -> bytes | None:
    try:
        return read_file(file, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ConfigurationError(f"{os.path.relpath(file)} cannot be read: {error.strerror}") from None


def _table(file: str, content: bytes) -> Mapping[str, Any] | None:
    """Return the file's table for this tool, or ``None`` when it has none."""
    try:
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    except ImportError:
        raise ConfigurationError(f"{os.path.relpath(file)}: reading it needs tomli: pip install tomli") from None
    try:
        tool = tomllib.loads(content.decode("utf-8")).get("tool", {})
    except ValueError as error:  # not TOML, or not UTF-8
        raise ConfigurationError(f"{os.path.relpath(file)} is not valid TOML: {error}") from None
    table = tool.get("ddpdoctor") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(f"{os.path.relpath(file)}: tool.ddpdoctor must be a table")
    return table


def _configuration(
    table: Mapping[str, Any], file: str, text: str, checks: Callable[[], frozenset[str]]
) -> Configuration:
    values: dict[str, Any] = {"file": file}
    for key, value in table.items():
        if key not in READERS:
            raise ValueError(names.unknown("key", key, READERS))
        try:
            values[key.replace("-", "_")] = READERS[key](value)
        except ValueError as error:
            raise ValueError(f"{key} must be {error}, not {value!r}") from None
    for key in ("select", "ignore"):
        for name in sorted(values.get(key, ())):
            if name not in checks():
                raise ValueError(f"{key}: {names.unknown('check', name, checks())}")
    values["ignored_there"] = {name: _line_of(name, text) for name in sorted(values.get("ignore", ()))}
    return Configuration(**values)


def _line_of(name: str, text: str) -> int:
    """Return the line (from 1) on which the ``ignore`` of the configuration names a check."""
    sought = [
        r"""\btool\b.*\bddpdoctor\b|^\s*["']?ddpdoctor["']?\s*[.=]""",
        r"\bignore\s*=",
        f"[\"']{re.escape(name)}[\"']",
    ]
    for number, line in enumerate(text.splitlines(), 1):
        while sought and re.search(sought[0], line):
            del sought[0]
        if not sought:
            return number
    return 1


def _check_names(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of check names")
    return frozenset(value)


def _selected_names(value: object) -> frozenset[str]:
    if value == []:
        raise ValueError("a list of one check name or more")
    return _check_names(value)


def _fail_on(value: object) -> Severity | None:
    if value not in FAIL_ON:
        raise ValueError(f"one of {', '.join(FAIL_ON)}")
    return severity_to_fail_on(str(value))


def _one_of(kind: type[Rank]) -> Callable[[object], Rank]:
    def read(value: object) -> Rank:
        try:
            return kind(value)
        except ValueError:
            raise ValueError(f"one of {', '.join(member.value for member in kind)}") from None

    return read


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _ranks(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < FEWEST_RANKS:
        raise ValueError(f"a whole number from {FEWEST_RANKS}")
    return value


def _steps(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("a whole number from 1")
    return value


def _seconds(value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise ValueError("a number of seconds above 0")
    return float(value)


READERS: Mapping[str, Callable[[object], Any]] = {
    "select": _selected_names,
    "ignore": _check_names,
    "preview": _yes_or_no,
    "severity": _one_of(Severity),
    "confidence": _one_of(Confidence),
    "fail-on": _fail_on,
    "run": _yes_or_no,
    "ranks": _ranks,
    "steps": _steps,
    "timeout": _seconds,
}
"""What each key of the configuration means: returns the value, or raises ValueError with what it must be."""

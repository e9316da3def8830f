"""The command line that most runs have: read without click, which takes longer to import than a script to read."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from ddpdoctor import streams
from ddpdoctor.checking import check, with_errors_said
from ddpdoctor.options import BY_FLAG, OPTIONS, Option
from ddpdoctor.status import Status

COMPLETION = "_DDPDOCTOR_COMPLETE"
"""The variable by which a shell asks click to complete a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status; without arguments, with those of the process."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = plainly_given(given[1:]) if given[:1] == ["check"] and COMPLETION not in os.environ else None
    if options is None or (os.name == "nt" and arguments is None):  # there click expands ``*.py``
        from ddpdoctor.cli import main as with_click

        return with_click(arguments)
    streams.open_missing()
    paths = options.pop("paths")
    return Status(with_errors_said(lambda: check(paths, {**options, "arguments": ()})))


def plainly_given(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return what the arguments of ``check`` say, as click would: its ``paths``, and each option by its key.

    ``None`` is for click to read, which knows what to say: help, what is wrong, the script's own arguments.
    """
    paths: list[str] = []
    given: dict[str, Any] = {option.key: _unsaid(option) for option in OPTIONS}
    pending = list(reversed(arguments))
    while pending:
        argument = pending.pop()
        if argument == "-" or not argument.startswith("-"):
            paths.append(argument)
            continue
        flag, equals, text = argument.partition("=")
        option = BY_FLAG.get(flag)
        if option is None or (option.is_flag and equals) or not (option.is_flag or equals or pending):
            return None
        if option.is_flag:
            given[option.key] = True
            continue
        text = text if equals else pending.pop()
        try:
            value = option.kind(text) if option.kind else text
        except ValueError:
            return None
        if text.startswith("-") or (option.choices and value not in option.choices):
            return None
        given[option.key] = (*given[option.key], value) if option.many else value
    return {**given, "paths": tuple(paths)}


def _unsaid(option: Option) -> Any:
    return () if option.many else False if option.is_flag else option.default

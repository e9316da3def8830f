"""Rewrites f-strings that only Python 3.12 parses into ones that an older Python does, each character in its place."""

import re

_STARTS = re.compile(r"#[^\n]*|([A-Za-z]*)(\"\"\"|'''|\"|')|\w+", re.DOTALL)
"""A comment, a string with what stands before its quote, or a word: what is none of them starts no string."""
OTHER = {'"': "'", "'": '"'}


class _GivenUp(Exception):
    """No rewriting is of the same length, or this is no f-string at all."""


def for_older_python(text: str) -> str | None:
    """Return a module's text with the quotes and backslashes in the braces of f-strings replaced (PEP 701).

    ``None`` where nothing is to be replaced, or where it cannot be done with every character in its place.
    """
    written = list(text)
    at = 0
    try:
        while (found := _STARTS.search(text, at)) is not None:
            at = found.end()
            quote = found[2]
            if quote is not None:
                at = _string(text, at, quote, found[1], "", written)
    except _GivenUp:
        return None
    older = "".join(written)
    return older if older != text else None


def _string(text: str, at: int, quote: str, prefix: str, around: str, written: list[str]) -> int:
    """Pass over a string whose quote was read, and return where it ends: it may not hold what is ``around``."""
    formatted = "f" in prefix.lower() and len(prefix) <= 2
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        character = text[at]
        if formatted and text.startswith(("{{", "}}"), at):
            at += 2
        elif formatted and character == "{":
            at = _field(text, at + 1, around + (quote if len(quote) == 1 else "") + "\\", written)
        elif character == "\\":
            if around:
                written[at : at + 2] = "  "
            at += 2
        elif character == "\n" and len(quote) == 1:
            break
        else:
            if character in around:
                written[at] = " "
            at += 1
    raise _GivenUp


def _field(text: str, at: int, around: str, written: list[str]) -> int:
    """Pass over a replacement field whose brace was read, the strings in it given quotes that are free."""
    depth = 0
    while at < len(text):
        character = text[at]
        if character == "}" and depth == 0:
            return at + 1
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "#" or (character == "\n" and around.strip("\\")):
            break
        elif character in "\"'":
            prefix = re.search(r"[A-Za-z]*$", text[max(0, at - 3) : at])
            at = _requoted(text, at, prefix[0] if prefix else "", around, written)
            continue
        elif character == ":" and depth == 0:
            return _layout(text, at + 1, around, written)
        at += 1
    raise _GivenUp


def _layout(text: str, at: int, around: str, written: list[str]) -> int:
    """Pass over how a value is to be laid out, ``:>{width}``."""
    while at < len(text) and text[at] not in "}\n":
        at = _field(text, at + 1, around, written) if text[at] == "{" else at + 1
    if not text.startswith("}", at):
        raise _GivenUp
    return at + 1


def _requoted(text: str, at: int, prefix: str, around: str, written: list[str]) -> int:
    """Pass over a string inside a field, and give it the quote that no string around it has."""
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    free = OTHER[quote[0]]
    requoted = quote[0] in around
    if requoted and (free in around or len(quote) == 3):
        raise _GivenUp
    end = _string(text, at + len(quote), quote, prefix, around + free if requoted else around, written)
    if requoted:
        written[at] = written[end - 1] = free
    return end

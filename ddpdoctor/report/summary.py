"""How many findings of which kind there are, as numbers and in words."""

from collections.abc import Iterable

from ddpdoctor.record import Record
from ddpdoctor.report.shown import Shown


class Counts(Record):
    """Findings by severity, without those that do not count: the refuted, those of preview checks; and by what a run
    said of them.
    """

    error: int
    warning: int
    note: int
    confirmed: int
    refuted: int
    not_reached: int
    preview: int


def count(findings: Iterable[Shown]) -> Counts:
    """Return how many findings there are of each kind."""
    all_of_them = tuple(findings)
    states = [shown.outcome.state for shown in all_of_them if shown.outcome is not None]
    severities = [shown.severity for shown in all_of_them if shown.counted]
    return Counts(
        error=severities.count("error"),
        warning=severities.count("warning"),
        note=severities.count("note"),
        confirmed=states.count("confirmed"),
        refuted=states.count("refuted"),
        not_reached=states.count("not-reached"),
        preview=sum(shown.preview and not shown.refuted for shown in all_of_them),
    )


def sentence(findings: tuple[Shown, ...], files: int) -> str:
    """Return the summary in one line."""
    counts = count(findings)
    kinds = [
        plural(number, kind)
        for number, kind in ((counts.error, "error"), (counts.warning, "warning"), (counts.note, "note"))
        if number
    ]
    line = f"{join(kinds) or 'No findings'} in {plural(files, 'file')}"
    if counts.preview:
        line += f"; {plural(counts.preview, 'preview finding')} (not counted)"
    states = [
        f"{number} {state}"
        for number, state in (
            (counts.confirmed, "confirmed"),
            (counts.not_reached, "not reached"),
            (counts.refuted, "refuted (not counted)"),
        )
        if number
    ]
    return f"{line}; the run: {', '.join(states)}." if states else f"{line}."


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(words: list[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))

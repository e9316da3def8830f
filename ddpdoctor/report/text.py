"""The report as text for people: findings by file, each with its code, its verdict and its fix, then a summary."""

from collections.abc import Iterator

from ddpdoctor.checkup import Report
from ddpdoctor.layer import SOURCE
from ddpdoctor.paths import Paths
from ddpdoctor.report.code import INDENT, code_of, position
from ddpdoctor.report.evidence import readable
from ddpdoctor.report.layers import shortcomings, summary_table
from ddpdoctor.report.shown import Outcome, Shown
from ddpdoctor.report.summary import project_sentences, sentence
from ddpdoctor.report.words import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Style, columns, printable

COLOURS = {"error": (BOLD, RED), "warning": (BOLD, YELLOW), "note": (BOLD, CYAN)}
STATES = {"confirmed": (BOLD,), "refuted": (DIM,), "not-reached": (DIM,), "not-decided": (DIM,)}


def render(report: Report, findings: tuple[Shown, ...], paths: Paths, style: Style, *, source_only: bool) -> str:
    """Return the report as text; the table of the layers is left out when only the source was to be read."""
    parts = ["".join(f"{line}\n" for line in _finding(shown, style)) for shown in findings]
    by_project = project_sentences(report, paths)
    if by_project:
        parts.append("".join(f"{line}\n" for text in by_project for line in style.wrapped(text, rest=2)))
    summary = sentence(report)
    if source_only:
        parts.append(
            "".join(f"{line}\n" for line in (*shortcomings(report, [SOURCE]), f"{summary[:-1]} (source only)."))
        )
    else:
        parts.append("".join(f"{style.paint(line, BOLD)}\n" for line in style.wrapped(summary)))
        parts.append(summary_table(report, style))
    return "\n".join(parts)


def _finding(shown: Shown, style: Style) -> Iterator[str]:
    colours = (DIM,) if shown.refuted else COLOURS[shown.severity]
    yield from _headline(shown, style, colours)
    yield from code_of(shown, style, colours)
    if shown.outcome is not None:
        yield from _outcome(shown.outcome, style)
    if shown.fix is not None:
        yield from _entry("fix", shown.fix.description, style, (BOLD, GREEN))


def _headline(shown: Shown, style: Style, colours: tuple[str, ...]) -> Iterator[str]:
    where = f"{position(shown.spot)}:{shown.spot.column}"
    aside = [word for word, holds in (("refuted", shown.refuted), ("preview", shown.preview)) if holds]
    severity = f"{shown.severity} ({', '.join(aside)})" if aside else shown.severity
    message = printable(shown.message)
    if shown.subject is not None and shown.subject not in message:
        message = f"{message} ({printable(shown.subject)})"
    painted = f"{style.paint(where, BOLD)}  {style.paint(severity, *colours)}  {style.paint(shown.check, BOLD)}  "
    taken = columns(f"{where}  {severity}  {shown.check}  ")
    for number, line in enumerate(style.wrapped(message, taken, INDENT)):
        yield line if number else painted + line


def _outcome(outcome: Outcome, style: Style) -> Iterator[str]:
    yield from _entry(outcome.state.replace("-", " "), outcome.reason, style, STATES[outcome.state])
    for line in readable(outcome.evidence):
        text = line.lstrip()
        taken = 2 * INDENT + len(line) - len(text)
        for number, part in enumerate(style.wrapped(printable(text), taken, taken + 2)):
            yield part if number else " " * taken + part


def _entry(name: str, text: str, style: Style, codes: tuple[str, ...]) -> Iterator[str]:
    head = f"{' ' * INDENT}{style.paint(name, *codes)}: "
    for number, line in enumerate(style.wrapped(printable(text), INDENT + len(name) + 2, INDENT + 2)):
        yield line if number else head + line

"""How many findings of which kind there are, as numbers and in words."""

from ddpdoctor.checkup import Checked, Report, Target
from ddpdoctor.finding import Finding
from ddpdoctor.layer import SOURCE
from ddpdoctor.paths import Paths
from ddpdoctor.record import Record
from ddpdoctor.report.words import printable


class Totals(Record):
    """Findings by severity (without the refuted ones and those of preview checks), and by what a run said of them.

    ``known`` are those that the baseline names; they are not counted as anything else.
    """

    error: int
    warning: int
    note: int
    confirmed: int
    refuted: int
    not_reached: int
    not_decided: int
    preview: int
    known: int


def totals(report: Report) -> Totals:
    """Return how many findings there are of each kind; what several projects have in common counts once."""
    return _totals(report.findings, sum(checked.known for checked in report.projects))


def totals_of(checked: Checked) -> Totals:
    """Return how many findings of each kind there are in one project."""
    return _totals(checked.findings, checked.known)


def _totals(findings: tuple[Finding, ...], known: int) -> Totals:
    states = [finding.verdict.state.value for finding in findings if finding.verdict is not None]
    severities = [finding.severity.value for finding in findings if finding.counted]
    return Totals(
        error=severities.count("error"),
        warning=severities.count("warning"),
        note=severities.count("note"),
        confirmed=states.count("confirmed"),
        refuted=states.count("refuted"),
        not_reached=states.count("not-reached"),
        not_decided=states.count("not-decided"),
        preview=sum(finding.preview and not finding.refuted for finding in findings),
        known=known,
    )


def sentence(report: Report) -> str:
    """Return the summary in one line."""
    return f"{_clause(totals(report), report.targets)}."


def project_sentences(report: Report, paths: Paths) -> list[str]:
    """Return a line for each project, where there are several."""
    if len(report.projects) == 1:
        return []
    return [
        f"{printable(paths.shown(checked.project.root))}: {_clause(totals_of(checked), checked.targets)}."
        for checked in report.projects
    ]


def _clause(counts: Totals, targets: tuple[Target, ...]) -> str:
    kinds = [
        plural(number, kind)
        for number, kind in ((counts.error, "error"), (counts.warning, "warning"), (counts.note, "note"))
        if number
    ]
    line = f"{join(kinds) or 'No findings'} in {plural(len(targets), 'file')}"
    unread = sum(target.layers[SOURCE].state != "checked" for target in targets if SOURCE in target.layers)
    if unread:
        of_them = "it was" if len(targets) == 1 else f"{unread} of them {'was' if unread == 1 else 'were'}"
        line += f"; {of_them} not read"
    if counts.preview:
        line += f"; {plural(counts.preview, 'preview finding')} (not counted)"
    if counts.known:
        line += f"; {counts.known} in the baseline (not counted)"
    states = [
        f"{number} {state}"
        for number, state in (
            (counts.confirmed, "confirmed"),
            (counts.not_reached, "not reached"),
            (counts.not_decided, "not decided"),
            (counts.refuted, "refuted (not counted)"),
        )
        if number
    ]
    return f"{line}; the run: {', '.join(states)}" if states else line


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(words: list[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))

"""Ignore comments: finds them in the user's files, takes away what they ignore, and reports those that ignore nothing.

``# ddpdoctor: ignore[check, ...]`` holds for findings on its line (any line of the finding's span), and
``# ddpdoctor: ignore-file[check, ...]`` for the whole file, wherever in it the comment stands.
"""

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ddpdoctor import registry
from ddpdoctor.checkup import Configuration, Project
from ddpdoctor.finding import Fault, Finding, Fix, Severity
from ddpdoctor.layer import LAYERS, SOURCE
from ddpdoctor.lines import Lines
from ddpdoctor.named import NamedTuple
from ddpdoctor.names import split, unknown
from ddpdoctor.place import Place

UNUSED = "unused-ignore"
_COMMENT = r"#\s*ddpdoctor:\s*(?P<kind>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<names>[^\]\n]*)\])?"


class Ignore(NamedTuple):
    """An ignore comment: where it stands, which checks it names, and whether it holds for the whole file."""

    place: Place
    names: tuple[str, ...]
    whole_file: bool

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is at a place that this comment holds for."""
        place = finding.fault.place
        if place.file != self.place.file or finding.check not in self.names:
            return False
        return self.whole_file or place.covers(self.place)


class Found(NamedTuple):
    """What was found in one project, and which layers of each of its files (absolute) were checked in full."""

    project: Project
    findings: tuple[Finding, ...]
    layers: Mapping[str, Collection[str]]


def sift(found: Sequence[Found], lines: Lines) -> list[tuple[Finding, ...]]:
    """Return for each project the findings that nothing ignores, and a note for every ignore that ignored nothing.

    Only comments in the projects' files are judged, and only where every layer that could have found something was
    checked. What a configuration ignores is judged where the whole folder that it holds for was checked, provided that
    the checks that it ignores were asked (``Configuration.asks``).
    """
    files = dict.fromkeys(file for each in found for file in _files(each))
    comments = {file: comments_in(file, lines) for file in files}
    kept: list[list[Finding]] = []
    used: set[tuple[Ignore | str | None, str]] = set()  # by a comment, or by the configuration in a file
    for each in found:
        configuration = each.project.configuration
        kept.append([])
        for finding in each.findings:
            matching = [comment for comment in comments[finding.fault.place.file] if comment.covers(finding)]
            used.update((comment, finding.check) for comment in matching)
            if finding.check in configuration.ignore:
                used.add((configuration.file, finding.check))
            elif not matching:
                kept[-1].append(finding)
    for each, findings in zip(found, kept, strict=True):
        idle = (
            fault
            for file, layers in each.layers.items()
            for comment in comments[file]
            for fault in _faults_of(comment, used, layers, each.project.configuration)
        )
        findings.extend(_notes(idle, each.project.configuration, comments))
    for sharing in _by_configuration(found):
        configuration = sharing[0].project.configuration
        kept[found.index(sharing[0])].extend(_notes(_idle_there(sharing, used), configuration, comments))
    return [tuple(findings) for findings in kept]


def _files(found: Found) -> Iterator[str]:
    yield from found.layers
    yield from (finding.fault.place.file for finding in found.findings)


def _by_configuration(found: Iterable[Found]) -> Iterable[list[Found]]:
    sharing: dict[str | None, list[Found]] = {}
    for each in found:
        sharing.setdefault(each.project.configuration.file, []).append(each)
    return sharing.values()


def _idle_there(sharing: Sequence[Found], used: Collection[tuple[Ignore | str | None, str]]) -> Iterator[Fault]:
    """Yield what the configuration that some projects share ignores to no effect."""
    configuration = sharing[0].project.configuration
    if configuration.file is None or not all(each.project.whole for each in sharing):
        return
    layers = frozenset(LAYERS).intersection(*(layers for each in sharing for layers in each.layers.values()))
    for name, line in configuration.ignored_there.items():
        if (configuration.file, name) not in used and could_be_found_in(name, layers):
            yield _idle(Place(configuration.file, line, end_line=line), name, "in the whole project")


def _notes(
    idle: Iterable[Fault], configuration: Configuration, comments: Mapping[str, tuple[Ignore, ...]]
) -> Iterator[Finding]:
    if configuration.wants(UNUSED):
        for fault in idle:
            note = Finding(check=UNUSED, severity=Severity.NOTE, layer=SOURCE, fault=fault)
            if not any(comment.covers(note) for comment in comments.get(fault.place.file, ())):
                yield note


def _faults_of(
    comment: Ignore,
    used: Collection[tuple[Ignore | str | None, str]],
    layers: Collection[str],
    configuration: Configuration,
) -> Iterator[Fault]:
    """Yield what is wrong with a comment in a file of which ``layers`` were checked."""
    if not comment.names:
        kind = "ignore-file" if comment.whole_file else "ignore"
        yield Fault(
            place=comment.place,
            message="this comment names no check, so it ignores nothing",
            fix=Fix(description=f"write {kind}[check-name]", safe=True),
        )
    for name in comment.names:
        if name not in registry.names():
            yield Fault(
                place=comment.place, message=f"this comment ignores an {unknown('check', name, registry.names())}"
            )
        elif name == UNUSED or (comment, name) in used or not configuration.wants(name):
            continue
        elif could_be_found_in(name, layers):
            yield _idle(comment.place, name, "in this file" if comment.whole_file else "on this line")


def _idle(place: Place, name: str, where: str) -> Fault:
    return Fault(
        place=place,
        message=f"'{name}' finds nothing {where}: ignoring it has no effect",
        fix=Fix(description=f"remove '{name}' from the ignored checks", safe=True),
    )


def could_be_found_in(name: str, layers: Collection[str]) -> bool:
    """Whether the layers that were checked are all of those in which a check finds faults by itself."""
    check = registry.load(name)
    finders = {SOURCE} if check.observe is None else set(check.layers) - (set() if check.predict else {SOURCE})
    return finders <= set(layers)


def comments_in(file: str, lines: Lines) -> tuple[Ignore, ...]:
    """Return the ignore comments of a file."""
    if not lines.mentions(file, b"ddpdoctor:"):  # telling a comment from a string takes as long as parsing
        return ()
    return tuple(
        Ignore(
            Place(file, line, column, line, column + len(match.group()), cell),
            split((match["names"] or "",)),
            match["kind"] == "ignore-file",
        )
        for cell in lines.cells(file)
        for line, column, match in _matches(lines.of(file, cell))
    )


def _matches(lines: list[str]) -> Iterator[tuple[int, int, "re.Match[str]"]]:
    """Yield the line, the column (both from 1) and the match of every comment of ours in a text's lines.

    In what comes after something that is no Python, a comment cannot be told from a string: it is taken for one.
    """
    if not any("ddpdoctor:" in line for line in lines):
        return
    line, told = 1, 0  # where the reading is, and the last line on which a comment was told from a string
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                told = line
                for match in re.finditer(_COMMENT, token.string):
                    yield line, token.start[1] + match.start() + 1, match
    except (SyntaxError, tokenize.TokenError):
        for number in range(max(line, told + 1), len(lines) + 1):
            for match in re.finditer(_COMMENT, lines[number - 1]):
                yield number, match.start() + 1, match

"""What a check-up is asked (a request) and what it brings home (a report)."""

import os
from collections.abc import Collection, Mapping

from ddpdoctor.finding import Confidence, Finding, Severity
from ddpdoctor.layer import LayerState
from ddpdoctor.merging import merged
from ddpdoctor.record import Record


class Configuration(Record):
    """What ``[tool.ddpdoctor]`` says, with what the command line said instead put over it.

    ``select`` is ``None`` for every check, and ``unasked`` are the preview checks, unless they were asked for.
    Findings of less than ``severity`` or ``confidence`` are not shown. ``fail_on`` is ``None`` for never. ``file`` is
    the pyproject.toml that it was read from (absolute), ``unusable`` what is wrong with it, and ``ignored_there`` maps
    the checks that this file ignores to the line that says so; it is empty where the command line said which checks to
    select or to ignore.
    """

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    preview: bool = False
    unasked: frozenset[str] = frozenset()
    severity: Severity = Severity.NOTE
    confidence: Confidence = Confidence.MEDIUM
    fail_on: Severity | None = Severity.WARNING
    run: bool = True
    ranks: int = 2
    steps: int = 3
    timeout: float = 120.0  # seconds, for one run
    file: str | None = None
    unusable: str | None = None
    ignored_there: Mapping[str, int] = {}

    def wants(self, check: str) -> bool:
        """Whether a check is to be reported."""
        return self._selects(check) and check not in self.ignore

    def asks(self, check: str) -> bool:
        """Whether a check is to be asked: those to be reported, and those that the file ignores (needlessly?)."""
        return self.wants(check) or (check in self.ignored_there and self._selects(check))

    def _selects(self, check: str) -> bool:
        return check in self.select if self.select is not None else check not in self.unasked


class Project(Record):
    """The files of one project that are to be checked: absolute, each once.

    ``root`` is the folder of the project (absolute; see ``ddpdoctor.projects``). ``whole`` says that the whole folder
    of the configuration's file is checked.
    """

    root: str
    paths: tuple[str, ...]
    configuration: Configuration = Configuration()
    whole: bool = False


class Request(Record):
    """What is to be checked, and how far.

    A folder that was named is already the Python files in it. ``standard_input`` is what the standard input held, where
    that is to be checked: the only path is then the name that it goes by. ``arguments`` are passed on to the one
    script. ``run`` and ``probe`` insist on their layers (a probe includes the model layer); without them and without
    ``source_only`` the model layer runs where it can, unless ``withheld`` says in one line why it must not (several
    files were named, for instance). ``jobs`` is how many processes read at once. ``baseline`` is the file that names
    the findings that are known (absolute), and ``write_baseline`` asks for it to be written.
    """

    projects: tuple[Project, ...]
    directory: str  # the working directory, absolute
    standard_input: bytes | None = None
    arguments: tuple[str, ...] = ()
    source_only: bool = False
    run: bool = False
    probe: bool = False
    withheld: str | None = None
    jobs: int = 1
    baseline: str | None = None
    write_baseline: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of all projects."""
        return tuple(path for project in self.projects for path in project.paths)

    @property
    def is_for_one_file(self) -> bool:
        """Whether there is nothing to read after the first file."""
        return len(self.projects) == 1 and len(self.projects[0].paths) == 1

    def contents(self) -> Mapping[str, bytes]:
        """Return the contents of the paths that are no files."""
        return {} if self.standard_input is None else dict.fromkeys(self.paths, self.standard_input)


class Target(Record):
    """One file that was checked: its path as shown, and what each layer did."""

    path: str  # relative to the working directory, with /
    layers: Mapping[str, LayerState]


class OwnFault(Record):
    """An error of ddpdoctor's own in a line, and as Python shows it."""

    text: str
    traceback: str

    @classmethod
    def of(cls, error: Exception, part: str | None = None) -> "OwnFault":
        """Return an error that was caught; ``part`` says what was at work (``the check hang``)."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
        before = f"{part}: " if part else ""
        import traceback  # it takes long to import, and a fault of ours is rare

        text = f"{before}{type(error).__name__}: {' '.join(str(error).split())}{where}"
        return cls(text=text, traceback="".join(traceback.format_exception(error)))


class Checked(Record):
    """What a check-up found in one project; ``known`` findings, which the baseline names, are only counted.

    ``whole`` has the layers of each file (absolute) that were checked in full: what they did not find is not there.
    """

    project: Project
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]
    whole: Mapping[str, Collection[str]] = {}
    known: int = 0


class Report(Record):
    """What a check-up found, and the faults of our own that it met."""

    version: str
    projects: tuple[Checked, ...]
    faults: tuple[OwnFault, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        """The files of all projects."""
        return tuple(target for checked in self.projects for target in checked.targets)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all projects: one of those that several have in what they share."""
        return merged(finding for checked in self.projects for finding in checked.findings)


class Voice:
    """What a check-up says while it works. This one is silent."""

    def progress(self, words: str) -> None:
        """Say what is being done now; the next words take the place of these."""

    def notice(self, line: str) -> None:
        """Say one line that stays."""

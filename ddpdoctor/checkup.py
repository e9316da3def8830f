"""What a check-up is asked (a request) and what it brings home (a report)."""

import os
from collections.abc import Mapping

from ddpdoctor.finding import Finding, Severity
from ddpdoctor.layer import LayerState
from ddpdoctor.record import Record


class Configuration(Record):
    """What ``[tool.ddpdoctor]`` says, with what the command line said instead put over it.

    ``select`` is ``None`` for every check, and ``unasked`` are the preview checks, unless they were asked for.
    ``fail_on`` is ``None`` for never. ``file`` is the pyproject.toml that it
    was read from (absolute), and ``ignored_there`` maps the checks that this file ignores to the line that says so; it
    is empty where the command line said which checks to select or to ignore.
    """

    select: frozenset[str] | None = None
    ignore: frozenset[str] = frozenset()
    preview: bool = False
    unasked: frozenset[str] = frozenset()
    fail_on: Severity | None = Severity.WARNING
    run: bool = True
    ranks: int = 2
    steps: int = 3
    timeout: float = 120.0  # seconds, for one run
    file: str | None = None
    ignored_there: Mapping[str, int] = {}

    def wants(self, check: str) -> bool:
        """Whether a check is to be reported."""
        return self._selects(check) and check not in self.ignore

    def asks(self, check: str) -> bool:
        """Whether a check is to be asked: those to be reported, and those that the file ignores (needlessly?)."""
        return self.wants(check) or (check in self.ignored_there and self._selects(check))

    def _selects(self, check: str) -> bool:
        return check in self.select if self.select is not None else check not in self.unasked


class Request(Record):
    """What is to be checked, and how far.

    ``paths`` are the files: absolute, each once; a folder that was named is already the Python files in it.
    ``standard_input`` is what the standard input held, where that is to be checked: the only path is then ``-`` in the
    working directory, and no file. ``arguments`` are passed on to the one script. ``run`` and ``probe`` insist on their
    layers (a probe includes the model layer); without them and without ``source_only`` the model layer runs where it
    can, unless ``withheld`` says in one line why it must not (several files were named, for instance).
    ``whole_project`` says that the paths cover the whole folder of the configuration's file.
    """

    paths: tuple[str, ...]
    directory: str  # the working directory, absolute
    standard_input: bytes | None = None
    arguments: tuple[str, ...] = ()
    source_only: bool = False
    run: bool = False
    probe: bool = False
    withheld: str | None = None
    whole_project: bool = False
    configuration: Configuration = Configuration()

    def contents(self) -> Mapping[str, bytes]:
        """Return the contents of the paths that are no files."""
        return {} if self.standard_input is None else dict.fromkeys(self.paths, self.standard_input)


class Target(Record):
    """One file that was checked: its path as shown, and what each layer did."""

    path: str  # relative to the working directory, with /
    layers: Mapping[str, LayerState]


class OwnFault(Record):
    """An error of ddpdoctor's own, and where it was at work (``the check hang``)."""

    error: Exception
    part: str | None = None

    @property
    def text(self) -> str:
        """The error in a line: the part at work, its type and message, and where it was raised."""
        trace = self.error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
        part = f"{self.part}: " if self.part else ""
        return f"{part}{type(self.error).__name__}: {' '.join(str(self.error).split())}{where}"


class Report(Record):
    """What a check-up found, and the faults of our own that it met."""

    version: str
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]
    faults: tuple[OwnFault, ...] = ()


class Voice:
    """What a check-up says while it works. This one is silent."""

    def progress(self, words: str) -> None:
        """Say what is being done now; the next words take the place of these."""

    def notice(self, line: str) -> None:
        """Say one line that stays."""

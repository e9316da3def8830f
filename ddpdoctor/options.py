"""The options of ``ddpdoctor check``."""

from collections.abc import Callable, Mapping
from typing import Any

from ddpdoctor.named import NamedTuple
from ddpdoctor.report import FORMATS
from ddpdoctor.status import CONFIDENCES, FAIL_ON, SEVERITIES


class Option(NamedTuple):
    """One option: a flag where it has neither ``kind`` nor ``choices``. ``key`` is what its value goes by."""

    flag: str
    help: str
    kind: Callable[[str], Any] | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    default: str | None = None
    name: str | None = None

    @property
    def key(self) -> str:
        """What its value goes by."""
        return self.name or self.flag[2:].replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it takes no value."""
        return self.kind is None and not self.choices


OPTIONS = (
    Option("--source-only", "Only read the source: never run it."),
    Option("--run", "Insist on the model layer: run to the first optimiser step."),
    Option("--probe", "Also run two or more ranks for a few steps and two epochs."),
    Option("--ranks", "Ranks to run; 2 by default.", int, "N"),
    Option("--steps", "Optimiser steps an epoch; 3 by default.", int, "N"),
    Option("--timeout", "Seconds for the run; 120 by default.", float, "S"),
    Option("--format", "The form of the report; text by default.", choices=FORMATS, default="text", name="form"),
    Option("--stdin-filename", "The path that the standard input (-) goes by.", str, "PATH"),
    Option("--jobs", "Processes that read; as many as a large folder can use by default.", int, "N"),
    Option("--output", "Write the report to a file.", str, "FILE"),
    Option("--select", "Only these checks.", str, "CHECK,...", many=True),
    Option("--ignore", "All but these checks.", str, "CHECK,...", many=True),
    Option("--preview", "Also the checks that are too new to fail a gate."),
    Option("--severity", "Show nothing less harmful; note by default.", choices=SEVERITIES),
    Option("--confidence", "Show nothing less certain; medium by default.", choices=CONFIDENCES),
    Option("--baseline", "The findings that are known: they are neither shown nor counted.", str, "FILE"),
    Option("--write-baseline", "Write what is found to the baseline, as known from now on."),
    Option("--fail-on", "What makes the exit status 1; warning by default.", choices=FAIL_ON),
)
BY_FLAG: Mapping[str, Option] = {option.flag: option for option in OPTIONS}

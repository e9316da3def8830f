"""The exit statuses, and the error that wrong usage is."""

import enum


class Status(enum.IntEnum):
    """What the exit status says to a gate."""

    CLEAN = 0  # nothing at or above --fail-on
    FINDINGS = 1
    USAGE = 2  # wrong usage, with one line that says what to do
    NOT_RUN = 3  # a layer that was asked for could not run, or an internal fault
    INTERRUPTED = 130


SEVERITIES = ("error", "warning", "note")
CONFIDENCES = ("high", "medium", "low")
FAIL_ON = (*SEVERITIES, "never")
"""What can make the status FINDINGS: findings of at least a severity, or none ever."""


class MisuseError(ValueError):
    """The command line or the configuration asks for what cannot be done; the message is one line."""

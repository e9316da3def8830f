"""The exit statuses."""

import enum


class Status(enum.IntEnum):
    """What the exit status says to a gate."""

    CLEAN = 0  # nothing at or above --fail-on
    FINDINGS = 1
    USAGE = 2  # wrong usage, with one line that says what to do
    NOT_RUN = 3  # a layer that was asked for could not run, or an internal fault
    INTERRUPTED = 130

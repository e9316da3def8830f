"""Prints what the benchmarks found at the end of the run; no benchmark fails by the clock."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

FOUND = pytest.StashKey[list[str]]()
HERE = Path(__file__).resolve().parent


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FOUND] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(
                pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not say what it used")
            )


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say a line at the end of the run."""
    return request.config.stash[FOUND].append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash[FOUND]
    if lines:
        terminalreporter.section("what reading costs")
        for line in lines:
            terminalreporter.write_line(line)

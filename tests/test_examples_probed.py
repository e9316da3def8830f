"""Every program of every check that a run can judge, run for real: bad ones are confirmed, good ones stay silent.

The quick tests run one of each check, its ``bad.py``; the slow ones all of them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from test_examples import BAD, GOOD, allowed, marked, name_of

from ddpdoctor import registry

CHECKS = Path(__file__).resolve().parent.parent / "checks"
"""The programs in the checkout: to an installed ddpdoctor those beside its checks are its own, and no user's."""

JUDGED = {row.name for row in registry.rows() if {"model", "probe"} & set(row.layers)}
PACKAGES = ("lightning", "accelerate", "transformers", "filelock", "yaml", "webdataset", "datasets.distributed")
PACKAGES += ("efficientnet_pytorch", "segmentation_models_pytorch", "torchmetrics", "ignite", "matplotlib", "yacs")
"""Programs that import one of these show what the source layer knows of it; it need not be installed."""
NOT_RUN = re.compile(r"^# not run: .+$", re.M)
"""What a program says that wants something from outside."""


def can_run(path: Path) -> bool:
    text = path.read_bytes().decode("utf-8", "replace")
    if NOT_RUN.search(text):
        return False
    return path.suffix == ".py" and not any(f"import {name}" in text or f"from {name}" in text for name in PACKAGES)


def probed(path: Path) -> tuple[list[dict], dict]:
    path = CHECKS / path.parent.name / path.name
    command = [sys.executable, "-m", "ddpdoctor", "check", str(path), "--probe", "--format", "json", "--timeout", "200"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=300, check=False)
    report = json.loads(done.stdout)
    layers = report["targets"][0]["layers"]
    without_a_wrap = layers["model"].get("reason", "").endswith("never wraps a model in DistributedDataParallel")
    assert done.returncode in ((1, 3) if without_a_wrap else (0, 1)), done.stderr
    return report["findings"], layers


def is_of_a_judged_check(path: Path) -> bool:
    return path.parent.name.replace("_", "-") in JUDGED


def runnable(paths: Iterable[Path]) -> list[object]:
    """Those of the programs that can be run, the slow ones marked."""
    chosen = [path for path in paths if is_of_a_judged_check(path) and can_run(path)]
    return [pytest.param(path, marks=() if path.name == "bad.py" else pytest.mark.slow) for path in chosen]


@pytest.mark.parametrize("path", runnable(BAD), ids=name_of)
def test_what_a_bad_program_marks_is_confirmed_by_its_run(path):
    findings, layers = probed(path)
    expected = {(line, check) for line, check in marked(path) if check in JUDGED}
    confirmed = {
        (line, check)
        for line, check in expected
        for finding in findings
        if finding["check"] == check
        and finding["line"] <= line <= finding["end_line"]
        and finding["verdict"]["state"] == "confirmed"
        and finding["verdict"]["evidence"]
    }
    assert confirmed == expected, (findings, layers)
    unexpected = [
        finding
        for finding in findings
        if not any(
            check == finding["check"] and finding["line"] <= line <= finding["end_line"] for line, check in marked(path)
        )
        and finding["check"] not in allowed(path)
    ]
    assert not unexpected


@pytest.mark.parametrize("path", runnable(GOOD), ids=name_of)
def test_a_good_program_stays_silent_when_it_runs(path):
    findings, layers = probed(path)
    assert [finding for finding in findings if finding["check"] not in allowed(path)] == []
    assert layers["probe"]["state"] == "checked", layers

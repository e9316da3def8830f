"""Where a run cannot be made, one line says why; and each fallback can be forced."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ddpdoctor.harness import memory, observation, torch_version
from ddpdoctor.harness.run_folder import plan_data

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)

DRIVER = Path(__file__).resolve().parent / "harness_run.py"

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux's namespaces and Landlock")


def why_not(harness: "Harness", **fields: object) -> str | None:
    """Return the reason, which a run itself gives in the same words."""
    plan = harness.plan("child.wrap()", **fields)
    reason = observation.available(plan)
    harness.assert_nothing_left()
    seen = harness.observe(plan)
    state = "checked" if reason is None else "not-run"
    assert {(layer.state, layer.reason) for layer in seen.layers.values()} == {(state, reason)}
    assert (seen.trace is None) == (reason is not None)
    return reason


@linux
@pytest.mark.parametrize("containment", ["auto", "overlay", "rootless", "copy"])
def test_a_run_is_possible_where_its_containment_is(harness: "Harness", containment: str) -> None:
    assert why_not(harness, containment=containment) is None


def test_torch_that_is_not_there_is_said(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_version, "missing", lambda: "torch is not installed")
    assert why_not(harness) == "torch is not installed"


def test_windows_is_refused_in_a_line_and_needs_nothing_of_unix(harness: "Harness") -> None:
    ask = """if True:
        import sys
        sys.platform = "win32"
        sys.modules.update(fcntl=None, resource=None)
        from ddpdoctor.harness import Plan, available, observe
        plan = Plan(script="C:/train.py", directory="C:/", style="single", layers=frozenset({"model"}))
        print(available(plan))
        print(observe(plan, print).layers["model"])
    """
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=60)
    reason = "running a script needs Linux or macOS: here only its source is read"
    assert done.stdout == f"{reason}\nLayerState(state='not-run', reason={reason!r})\n"


def test_too_little_memory_is_said_with_what_to_do(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 3 << 28)
    assert why_not(harness, ranks=4) == (
        "4 ranks need about 1.6 GiB before they have a model, and 768 MiB of memory are available: "
        "fewer --ranks need less"
    )
    assert why_not(harness, ranks=1) is None


UNSHARE = {"x86_64": 272, "aarch64": 97}.get(platform.machine(), 0)
LANDLOCK_CREATE_RULESET = 444


def held_back(harness: "Harness", *calls: int) -> dict[str, Any]:
    """Return what a parent to which system calls are refused says of the plan and its run."""
    plan = json.dumps(plan_data(harness.plan("child.wrap()")))
    done = subprocess.run(
        [sys.executable, str(DRIVER), plan, *map(str, calls)],
        env={**os.environ, "TMPDIR": str(harness.temporary)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    harness.assert_nothing_left()
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@linux
def test_where_namespaces_are_refused_the_copy_is_taken(harness: "Harness") -> None:
    said = held_back(harness, UNSHARE)
    assert said["available"] is None
    state, reason, details = said["layers"]["probe"]
    assert (state, reason) == ("checked", None)
    assert details[0].startswith("contained by a copy under Landlock")


@linux
def test_a_kernel_that_refuses_everything_runs_nothing(harness: "Harness") -> None:
    said = held_back(harness, UNSHARE, LANDLOCK_CREATE_RULESET)
    assert said["available"] == (
        "the user's files cannot be protected here, so nothing is run "
        "(overlay: unshare: Operation not permitted; copy: system call 444: Operation not permitted)"
    )
    assert said["layers"]["probe"] == ["not-run", said["available"], []]


def test_an_interrupt_is_passed_on_once_nothing_is_left(harness: "Harness") -> None:
    def interrupt(words: str) -> None:
        if words != "starting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observation.observe(harness.plan("import time\ntime.sleep(60)"), interrupt)
    harness.assert_nothing_left()


def test_arguments_reach_the_script_as_they_are(harness: "Harness") -> None:
    from ddpdoctor.events import Warned

    seen = harness.run(
        "import sys\nchild.say('GroupInit')\nchild.say('Warned', text=repr(sys.argv[1:]))\n",
        arguments=("--name", "a b", "--", "$HOME"),
        style="single",
    )
    assert seen.trace is not None
    assert seen.trace.of(Warned)[0].text == repr(["--name", "a b", "--", "$HOME"])

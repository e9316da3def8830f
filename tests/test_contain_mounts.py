"""Containment among mounts: volumes inside the project, a masked /proc, an overlay beneath the overlay."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ddpdoctor.harness.run_folder import plan_data

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)

DRIVER = Path(__file__).resolve().parent / "harness_run.py"


def may_mount() -> bool:
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not may_mount(), reason="only root can prepare mounts, in a namespace of its own")

SCRIPT = """
import os
child.wrap()
if RANK == 0:
    for path in ("new.txt", "data/new.txt", "sub/new.txt"):
        with open(path, "w") as file:
            file.write("x")
    with open("small.txt", "a") as file:
        file.write(" changed")
    os.remove("data/old.txt")
    assert open("small.txt").read() == "small changed"
    assert sorted(os.listdir("data")) == ["new.txt"], os.listdir("data")
    assert sorted(os.listdir()) == ["data", "link", "new.txt", "small.txt", "sub", "train.py"], os.listdir()
    assert os.readlink("link") == "small.txt"
"""


def run_among(harness: "Harness", mounts: str, containment: str) -> dict[str, Any]:
    """Run the script in a mount namespace that some shell commands prepare, and return what the parent says."""
    plan = harness.plan(SCRIPT, {"small.txt": "small", "sub/old.txt": "", "data/old.txt": ""}, containment=containment)
    (harness.folder / "link").symlink_to("small.txt")
    parent = shlex.join([sys.executable, str(DRIVER), json.dumps(plan_data(plan))])
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", f"cd {harness.folder}\n{mounts}\n{parent}\nls -R ."],
        env={**os.environ, "TMPDIR": str(harness.temporary)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    harness.assert_nothing_left()
    said, _, listing = done.stdout.partition("\n.:\n")
    assert "new.txt" not in listing and "old.txt" in listing
    seen: dict[str, Any] = json.loads(said.splitlines()[-1])
    assert seen["raised"] == []
    return seen


VOLUME = "mount -t tmpfs none data; touch data/old.txt"


@pytest.mark.parametrize("containment", ["overlay", "rootless", "copy"])
def test_a_volume_inside_the_project_is_protected_too(harness: "Harness", containment: str) -> None:
    assert run_among(harness, VOLUME, containment)["layers"]["probe"][:2] == ["checked", None]


@pytest.mark.parametrize("containment", ["overlay", "rootless"])
def test_a_project_on_an_overlay_gets_another_one(harness: "Harness", containment: str) -> None:
    layer = harness.temporary.parent
    mounts = (
        f"mkdir {layer}/upper {layer}/work\n"
        f"mount -t overlay -o lowerdir=$PWD,upperdir={layer}/upper,workdir={layer}/work none $PWD\ncd $PWD"
    )
    assert run_among(harness, mounts, containment)["layers"]["probe"][:2] == ["checked", None]


@pytest.mark.parametrize("containment", ["overlay", "rootless", "copy"])
def test_a_project_on_a_read_only_filesystem_can_be_written_to_by_the_run(harness: "Harness", containment: str) -> None:
    mounts = "mount --bind . .; mount -o remount,ro,bind .; cd $PWD"
    assert run_among(harness, mounts, containment)["layers"]["probe"][:2] == ["checked", None]


def test_where_proc_is_masked_a_user_gets_the_copy(harness: "Harness") -> None:
    masked = "for part in acpi bus fs; do mount -t tmpfs -o ro none /proc/$part && break; done"
    state, reason, details = run_among(harness, masked, "rootless")["layers"]["probe"]
    assert (state, details) == ("not-run", [])
    assert "rootless: mount proc: Operation not permitted" in reason
    (harness.folder / "link").unlink()
    assert run_among(harness, masked, "copy")["layers"]["probe"][0] == "checked"

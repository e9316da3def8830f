"""Nothing outside a run's folder changes, whatever the script does, in each containment."""

import os
import stat
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ddpdoctor.events import Raised, Warned

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's namespaces and Landlock")

EVERY = pytest.mark.parametrize("containment", ["overlay", "rootless", "copy"])

MISDEEDS = """
import os, shutil, subprocess, sys, traceback

OTHER, LEAK, PROJECT = sys.argv[1], sys.argv[2], os.path.dirname(os.path.abspath(__file__))
did = []

def attempt(what, do):
    try:
        do()
        did.append(what)
    except OSError as error:
        print(what, error)

def write(path):
    with open(path, "a") as file:
        file.write("written by the run")

attempt("relative", lambda: write("metrics.csv"))
attempt("inside", lambda: write(os.path.join(PROJECT, "new", "..", "checkpoint.pt")) if os.path.isdir("new")
        else write(os.path.join(PROJECT, "checkpoint.pt")))
attempt("absolute", lambda: write(os.path.join(OTHER, "absolute.pt")))
attempt("append", lambda: write(os.path.join(OTHER, "kept.txt")))
attempt("truncate", lambda: os.truncate(os.path.join(OTHER, "kept.txt"), 1))
attempt("chmod", lambda: os.chmod(os.path.join(OTHER, "kept.txt"), 0o777))
attempt("chmod folder", lambda: os.chmod(OTHER, 0o700))
attempt("utime", lambda: os.utime(os.path.join(OTHER, "kept.txt"), (1, 1)))
attempt("xattr", lambda: os.setxattr(os.path.join(OTHER, "kept.txt"), "user.mark", b"1"))
attempt("unlink", lambda: os.unlink(os.path.join(OTHER, "kept.txt")))
attempt("rename", lambda: os.rename(os.path.join(OTHER, "second.txt"), os.path.join(OTHER, "third.txt")))
attempt("replace", lambda: os.replace(os.path.join(OTHER, "second.txt"), "second.txt"))
attempt("mkdir", lambda: os.makedirs(os.path.join(OTHER, "a", "b")))
attempt("symlink", lambda: os.symlink("kept.txt", os.path.join(OTHER, "link")))
attempt("hard link", lambda: os.link(os.path.join(OTHER, "data.bin"), os.path.join(PROJECT, "hard.bin")))
attempt("through the hard link", lambda: write(os.path.join(PROJECT, "hard.bin")))
attempt("through a link", lambda: write(os.path.join(PROJECT, "to_other", "data.bin")))
attempt("home", lambda: write(os.path.expanduser("~/.cache/tool/state") if os.path.isdir(
    os.path.expanduser("~/.cache/tool")) else os.path.expanduser("~/state")))
attempt("new in home", lambda: write(os.path.expanduser("~/new_state")))
attempt("elsewhere", lambda: write(LEAK))
attempt("subprocess", lambda: subprocess.run(["sh", "-c", f"echo leak > '{OTHER}/shell.txt'"], check=False))
attempt("chmod by a subprocess", lambda: subprocess.run(["chmod", "-R", "a+rwx", OTHER], check=False))
SHARED = "/dev/shm/" + os.path.basename(LEAK)
attempt("shared memory", lambda: write(SHARED) or os.unlink(SHARED))
attempt("rmtree other", lambda: shutil.rmtree(OTHER))
attempt("rmtree own", lambda: shutil.rmtree(PROJECT))
child.say("GroupInit")
child.say("Warned", text=" / ".join(did))
"""


def snapshot(*folders: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, owner, times and content of everything beneath some folders."""
    seen: dict[str, tuple[object, ...]] = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            about = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(about.st_mode) else None
            target = os.readlink(path) if path.is_symlink() else None
            marks = tuple(os.listxattr(path, follow_symlinks=False))
            seen[str(path)] = (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_nlink, content, target, marks)
    return seen


@pytest.fixture
def world(harness: "Harness", tmp_path: Path) -> Path:
    """Folders that a script can do harm to: its project, another one, a home."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("kept.txt", "second.txt", "data.bin"):
        (other / name).write_text("precious")
    (other / "kept.txt").chmod(0o640)
    (harness.folder / "module.py").write_text("VALUE = 1\n")
    (harness.folder / "to_other").symlink_to(other)
    (tmp_path / "home" / ".cache" / "tool").mkdir(parents=True)
    (tmp_path / "home" / ".cache" / "tool" / "state").write_text("state")
    return other


def done(harness: "Harness") -> set[str]:
    assert harness.last is not None and harness.last.trace is not None, harness.last
    return set(harness.last.trace.of(Warned)[0].text.split(" / "))


@EVERY
def test_nothing_changes_whatever_the_script_does(
    harness: "Harness", world: Path, tmp_path: Path, containment: str
) -> None:
    leak = Path("/var/tmp") / f"ddpdoctor-test-{uuid.uuid4().hex}"
    plan = harness.plan(MISDEEDS, containment=containment, style="single", arguments=(str(world), str(leak)))
    before = snapshot(harness.folder, world, tmp_path / "home")
    seen = harness.observe(plan)
    assert snapshot(harness.folder, world, tmp_path / "home") == before
    assert not leak.exists()
    assert seen.layers["probe"].state == "checked", seen.layers
    harmless = {"relative", "inside", "new in home", "shared memory"}
    assert done(harness) >= harmless
    if containment != "copy":
        everything = {line.split('"')[1] for line in MISDEEDS.splitlines() if line.startswith("attempt(")}
        assert done(harness) >= everything - {"replace", "xattr"}


@EVERY
def test_a_script_reads_what_it_wrote_and_sees_its_own_changes(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import os, shutil, sys
        child.say("GroupInit")
        os.makedirs("runs/1")
        with open("runs/1/log.txt", "w") as file:
            file.write("epoch 1")
        shutil.move("runs/1", "runs/2")
        shutil.rmtree("data")
        os.makedirs("data")
        os.remove("module.py")
        shown = [open("runs/2/log.txt").read(), str(sorted(os.listdir(".")))]
        child.say("Warned", text=" ".join(shown))
        """,
        containment=containment,
        style="single",
        files={"module.py": "", "data/a.txt": "a", "data/b/c.txt": "c"},
    )
    assert seen.trace is not None and seen.trace.of(Raised) == ()
    assert seen.trace.of(Warned)[0].text == "epoch 1 ['data', 'runs', 'train.py']"
    assert (harness.folder / "data" / "b" / "c.txt").read_text() == "c"


@EVERY
def test_a_script_in_a_read_only_folder_runs(harness: "Harness", containment: str) -> None:
    harness.plan("")
    harness.folder.chmod(0o555)
    try:
        seen = harness.run("child.say('GroupInit')\nchild.say('Warned', text='ran')\n", containment=containment)
    finally:
        harness.folder.chmod(0o755)
    assert seen.layers["probe"].state == "checked"


@EVERY
def test_paths_are_the_users_own(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import os
        from ddpdoctor.value import Constant
        import package.inner
        child.say("GroupInit")
        child.say("FileUsed", op="save", path=Constant(value=os.path.abspath("a.pt")), by="torch.save")
        child.say("FileUsed", op="save", path=Constant(value=os.path.expanduser("~/b.pt")), by="torch.save")
        package.inner.work(child)
        raise ValueError(f"no such option in {os.getcwd()}")
        """,
        containment=containment,
        style="single",
        files={
            "package/__init__.py": "",
            "package/inner.py": "def work(child):\n    child.say('Warned', text='inside')\n",
        },
    )
    from ddpdoctor.events import FileUsed

    assert seen.trace is not None
    home = os.environ["HOME"]
    assert [used.path.value for used in seen.trace.of(FileUsed)] == [f"{harness.folder}/a.pt", f"{home}/b.pt"]
    warned = seen.trace.of(Warned)[0]
    assert (warned.place.file, warned.place.line) == (f"{harness.folder}/package/inner.py", 2)
    assert [place.file for place in warned.stack] == [f"{harness.folder}/train.py"]
    raised = seen.trace.of(Raised)[0]
    assert raised.message == f"no such option in {harness.folder}" and not raised.ours


@EVERY
def test_a_working_directory_elsewhere_is_protected_and_kept(
    harness: "Harness", tmp_path: Path, containment: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "config.yaml").write_text("lr: 1")
    before = snapshot(elsewhere)
    seen = harness.run(
        """
        import os
        child.say("GroupInit")
        text = open("config.yaml").read()
        open("config.yaml", "w").close()
        open("new.txt", "w").close()
        child.say("Warned", text=f"{text} {sorted(os.listdir())}")
        """,
        containment=containment,
        style="single",
        directory=str(elsewhere),
    )
    assert seen.trace is not None
    assert seen.trace.of(Warned)[0].text == "lr: 1 ['config.yaml', 'new.txt']"
    assert snapshot(elsewhere) == before


def test_a_copied_run_names_the_absolute_path_that_it_may_not_write(harness: "Harness", tmp_path: Path) -> None:
    seen = harness.run(
        f"child.say('GroupInit')\nopen({str(tmp_path / 'out.pt')!r}, 'w')\n", containment="copy", style="single"
    )
    assert seen.layers["probe"].reason == (
        f"the script writes to {tmp_path / 'out.pt'}, which the copy that it runs in does not allow (train.py:2)"
    )
    assert seen.trace is not None and seen.trace.of(Raised)[0].ours


def test_a_copied_run_names_its_own_folder_when_it_is_written_out(harness: "Harness") -> None:
    path = harness.folder / "out.pt"
    seen = harness.run(f"child.say('GroupInit')\nopen({str(path)!r}, 'w')\n", containment="copy", style="single")
    assert seen.layers["probe"].reason == (
        f"the script writes to {path}, which the copy that it runs in does not allow (train.py:2)"
    )


def test_a_copy_links_what_is_big_or_not_code_and_says_so(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    seen = harness.run(
        """
        import os
        child.say("GroupInit")
        shown = {name: os.path.islink(name) for name in ("small.txt", "big.bin", ".git")}
        size = len(open("big.bin", "rb").read())
        try:
            open("big.bin", "ab").write(b"x")
        except PermissionError:
            size = -size
        child.say("Warned", text=f"{shown} {size}")
        """,
        containment="copy",
        style="single",
        files={"small.txt": "s", "big.bin": "x" * (17 << 20), ".git/HEAD": "ref"},
    )
    assert seen.trace is not None
    assert seen.trace.of(Warned)[0].text == f"{{'small.txt': False, 'big.bin': True, '.git': True}} -{17 << 20}"
    assert (harness.folder / "big.bin").stat().st_size == 17 << 20
    assert "2 of the project's files and folders were linked, not copied: .git, big.bin" in seen.layers["probe"].details


@EVERY
def test_a_folder_is_renamed_or_the_script_is_not_blamed(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import os
        child.say("GroupInit")
        os.rename("data", "old")
        child.say("Warned", text=" ".join(sorted(os.listdir())))
        """,
        containment=containment,
        style="single",
        files={"data/a.txt": "a"},
    )
    assert seen.trace is not None
    if seen.trace.of(Raised):
        assert containment == "rootless" or os.geteuid() != 0
        assert seen.layers["probe"].reason == (
            "the script renamed a folder, which the overlay of an ordinary user cannot do (train.py:4)"
        )
    else:
        assert seen.trace.of(Warned)[0].text == "old train.py"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another group")
@pytest.mark.parametrize(
    ("containment", "state"), [("rootless", "not-run"), ("overlay", "checked"), ("copy", "checked")]
)
def test_files_of_another_group_are_no_matter_for_an_ordinary_users_overlay(
    harness: "Harness", containment: str, state: str
) -> None:
    (harness.folder / "runs").mkdir()
    log = harness.folder / "runs/log.txt"
    log.write_text("epoch 1\n")
    os.chown(log, os.geteuid(), 4321)
    seen = harness.run(
        "child.say('GroupInit')\nopen('runs/log.txt', 'a').write('epoch 2')\n", containment=containment, style="single"
    )
    assert seen.layers["probe"].state == state, seen.layers["probe"].reason
    if state == "not-run":
        assert "runs/log.txt belongs to another user or group" in str(seen.layers["probe"].reason)
    assert log.read_text() == "epoch 1\n"


def test_an_overlay_bounds_what_a_run_may_write(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddpdoctor.harness.memory.scratch", lambda free: 32 << 20)
    seen = harness.run(
        "child.say('GroupInit')\nfile = open('big.pt', 'wb')\nfor _ in range(64): file.write(bytes(1 << 20))\n",
        containment="overlay",
        style="single",
    )
    assert seen.layers["probe"].reason == (
        "the script wrote more than the run may write (train.py:3): 32 MiB, for the run's files are kept in free memory"
    )


@pytest.mark.parametrize("containment", ["overlay", "rootless"])
def test_a_run_in_namespaces_sees_no_network_and_no_other_process(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import os, socket
        child.say("GroupInit")
        pids = sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())
        names = sorted(name for _, name in socket.if_nameindex())
        server = socket.create_server(("127.0.0.1", 29511))
        client = socket.create_connection(("127.0.0.1", 29511))
        try:
            socket.create_connection(("203.0.113.1", 80), timeout=5)
            reached = "reached"
        except OSError as error:
            reached = error.strerror
        child.say("Warned", text=f"{max(pids) < 10} {'lo' in names} {reached} {os.listdir('/dev/shm')}")
        """,
        containment=containment,
        style="single",
    )
    assert seen.trace is not None
    assert seen.trace.of(Warned)[0].text == "True True Network is unreachable []"


@EVERY
def test_multiprocessing_works(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import multiprocessing
        from multiprocessing import shared_memory
        child.say("GroupInit")
        queue = multiprocessing.get_context("fork").Queue()
        process = multiprocessing.get_context("fork").Process(target=lambda: queue.put(7))
        process.start()
        block = shared_memory.SharedMemory(create=True, size=1000)
        child.say("Warned", text=str(queue.get(timeout=20)))
        process.join()
        block.close()
        block.unlink()
        """,
        containment=containment,
        style="single",
    )
    assert seen.trace is not None and seen.trace.of(Raised) == ()
    assert seen.trace.of(Warned)[0].text == "7"


@EVERY
def test_shared_memory_of_a_run_that_was_cut_is_removed(harness: "Harness", containment: str) -> None:
    seen = harness.run(
        """
        import time
        from multiprocessing import resource_tracker, shared_memory
        child.say("GroupInit")
        block = shared_memory.SharedMemory(create=True, size=1 << 20)
        block.buf[0] = 1
        child.say("Warned", text=block.name)
        time.sleep(60)
        """,
        containment=containment,
        style="single",
        timeout=2.0,
    )
    assert seen.layers["probe"].state == "not-run"
    assert seen.trace is not None
    assert not os.path.exists("/dev/shm/" + seen.trace.of(Warned)[0].text)

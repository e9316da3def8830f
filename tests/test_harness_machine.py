"""What is found out about the machine that a run is to be made on, and about the project."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from left_behind import wait_until

from ddpdoctor.harness import gpus, memory, processes, torch_version
from ddpdoctor.harness.project_root import project_root


class TestMemory:
    """What is available, by the machine and by control groups."""

    @pytest.fixture
    def machine(self, tmp_path: Path) -> SimpleNamespace:
        proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
        (proc / "self").mkdir(parents=True)
        cgroups.mkdir()
        (proc / "meminfo").write_text("MemTotal: 16000000 kB\nMemFree: 1000 kB\nMemAvailable: 8000000 kB\n")
        return SimpleNamespace(proc=proc, cgroups=cgroups)

    def available(self, machine: SimpleNamespace) -> int:
        return memory.available(str(machine.proc), str(machine.cgroups))

    def group(self, folder: Path, **files: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            (folder / name.replace("__", ".")).write_text(f"{value}\n")

    pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

    def test_without_limits_it_is_what_the_machine_has(self, machine: SimpleNamespace) -> None:
        (machine.proc / "self" / "cgroup").write_text("0::/user.slice\n")
        self.group(machine.cgroups / "user.slice", memory__max="max", memory__current=5, memory__stat="inactive_file 0")
        assert self.available(machine) == 8_000_000 << 10

    def test_a_limit_of_a_group_around_counts_and_files_can_be_dropped(self, machine: SimpleNamespace) -> None:
        (machine.proc / "self" / "cgroup").write_text("0::/a/b\n")
        self.group(
            machine.cgroups / "a",
            memory__max=2 << 30,
            memory__current=3 << 29,
            memory__stat=f"anon 1\ninactive_file {1 << 28}",
        )
        self.group(machine.cgroups / "a" / "b", memory__max="max", memory__current=1, memory__stat="inactive_file 0")
        assert self.available(machine) == (2 << 30) - (3 << 29) + (1 << 28)

    def test_version_one_groups_seen_from_inside_a_container_count(self, machine: SimpleNamespace) -> None:
        (machine.proc / "self" / "cgroup").write_text("5:cpu,memory:/docker/1f\n1:name=systemd:/\n")
        self.group(
            machine.cgroups / "memory",
            memory__limit_in_bytes=1 << 30,
            memory__usage_in_bytes=1 << 29,
            memory__stat="total_inactive_file 0",
        )
        assert self.available(machine) == 1 << 29

    def test_a_spawning_script_needs_a_process_more(self) -> None:
        assert memory.needed("spawn", 2) == 3 * memory.RANK_BYTES == memory.needed("torchrun", 3)

    def test_sizes_are_said_in_the_units_that_people_use(self) -> None:
        assert [memory.words(size) for size in (300 << 20, 3 << 29)] == ["300 MiB", "1.5 GiB"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
class TestProcesses:
    """What the operating system says of processes."""

    def test_descendants_are_found_and_what_they_use(self) -> None:
        burn = "import os, time\nif os.fork():\n  time.sleep(60)\nhoard = bytearray(1 << 26)\nwhile True: pass"
        with subprocess.Popen([sys.executable, "-c", burn], start_new_session=True) as child:
            try:
                below = wait_until(lambda: processes.descendants(child.pid))
                assert processes.descendants(os.getpid()) >= {child.pid, *below}
                census = processes.Census()

                def computing() -> processes.Usage | None:
                    uses = census.usages(below)
                    return next((use for use in uses if use.threads[0].cpu > 0.1 and use.memory > 1 << 26), None)

                seen = wait_until(computing)
                assert seen.threads[0].active and seen.threads[0].name.startswith("python")
                assert seen.inner == seen.pid == seen.threads[0].inner
                (waiting,) = census.usages([child.pid])
                assert not waiting.threads[0].active
            finally:
                os.killpg(child.pid, signal.SIGKILL)
        assert list(census.usages([child.pid])) == []


class TestProjectRoot:
    """Which folder a script's project is."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        (tmp_path / "home" / "project" / "src" / "package").mkdir(parents=True)
        return tmp_path / "home"

    def root(self, home: Path, script: str, directory: str) -> str:
        found = project_root(str(home / script), str(home / directory), str(home), "/tmp")
        return os.path.relpath(found, home)

    def test_it_is_the_nearest_with_a_project_s_marks(self, home: Path) -> None:
        (home / "project" / "pyproject.toml").touch()
        (home / ".git").mkdir()  # dotfiles under version control make no project of a home
        assert self.root(home, "project/src/package/train.py", "project/src") == "project"

    def test_without_marks_it_is_the_working_directory_around_the_script(self, home: Path) -> None:
        assert self.root(home, "project/src/package/train.py", "project") == "project"

    def test_and_else_the_script_s_own_folder(self, home: Path) -> None:
        assert self.root(home, "project/src/train.py", "project/src/package") == "project/src"
        assert self.root(home, "project/src/train.py", ".") == "project/src"


class TestBackend:
    """Whether CUDA calls are redirected."""

    def test_gpus_are_counted_by_their_devices_and_what_is_visible(self, tmp_path: Path) -> None:
        for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
            (tmp_path / name).touch()
        seen = [
            gpus.visible(env, str(tmp_path))
            for env in ({}, {"CUDA_VISIBLE_DEVICES": "1"}, {"CUDA_VISIBLE_DEVICES": ""})
        ]
        assert seen == [2, 1, 0]

    @pytest.mark.parametrize(
        ("asked", "ranks", "count", "version", "backend"),
        [
            ("auto", 2, 0, "2.14.1", "redirect"),
            ("auto", 2, 1, "2.14.1+cu130", "redirect"),
            ("auto", 2, 2, "2.14.1+cu130", "native"),
            ("auto", 2, 2, "2.14.1+cpu", "redirect"),
            ("redirect", 2, 8, "2.14.1", "redirect"),
            ("native", 2, 0, "2.14.1", "native"),
        ],
    )
    def test_it_is_native_where_each_rank_gets_a_gpu(
        self, asked: str, ranks: int, count: int, version: str, backend: str
    ) -> None:
        assert gpus.backend(asked, ranks, count, version) == backend


class TestTorch:
    """Which torch will do."""

    @pytest.mark.parametrize(
        ("installed", "said"),
        [
            ("1.13.1", "torch 1.13.1 is older than"),
            ("2.4.0+cu121", "torch 2.4.0+cu121 is older than"),
            (f"{torch_version.FLOOR[0]}.{torch_version.FLOOR[1]}.0", None),
            ("3.0.0a0+git", None),
            (None, "torch is there but not its version"),
        ],
    )
    def test_a_release_older_than_the_floor_is_refused_by_name(
        self, monkeypatch: pytest.MonkeyPatch, installed: str | None, said: str | None
    ) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
        monkeypatch.setattr(torch_version, "installed", lambda: installed)
        found = torch_version.missing()
        assert found is None if said is None else found is not None and found.startswith(said)

    def test_without_torch_the_words_to_install_it_are_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert torch_version.missing() == "torch is not installed beside ddpdoctor: `pip install torch torchvision`"


def test_mounts_are_read_with_their_escapes_and_the_topmost_inside_are_found() -> None:
    from ddpdoctor.harness.contain.mounts import Mounts

    table = (
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "28 27 0:25 / /data/my\\040disk rw,nosuid shared:1 - nfs4 server:/x rw\n"
        "29 28 0:26 / /data/my\\040disk/inner rw - ext4 /dev/vdb rw\n"
        "30 27 0:27 / /data/my rw - tmpfs none rw\n"
        "31 27 0:28 / /proc rw - proc proc rw\n"
        "32 27 0:29 / /data/my/inner rw - tmpfs none rw\n"
    )
    mounts = Mounts(table)
    assert list(mounts.inside("/data")) == ["/data/my", "/data/my disk"]
    assert list(mounts.inside("/data/my disk")) == ["/data/my disk/inner"]
    assert set(mounts.inside("/")) == {"/data/my", "/data/my disk", "/proc"}
    assert mounts.is_pseudo("/proc") and not mounts.is_pseudo("/data/my")

"""The rules that the supervision of a run is made of, each by itself."""

import errno
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ddpdoctor.events import Collective
from ddpdoctor.harness import environment, reasons, run_folder
from ddpdoctor.harness.crash_report import last_stack
from ddpdoctor.harness.hang import RankView, deadlocked, difference
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.processes import Thread, Usage
from ddpdoctor.harness.trail import Trail
from ddpdoctor.harness.translation import Translation
from ddpdoctor.place import Place
from ddpdoctor.value import Group

HERE = Place("/p/train.py", 7)
PLAN = Plan(script="/p/sub/train.py", directory="/p", style="torchrun", layers=frozenset({"model", "probe"}))


def collective(
    op: str = "all_reduce", shape: tuple[int, ...] = (4,), group: Group | None = None, at: float = 0.0
) -> Collective:
    return Collective(place=HERE, op=op, shapes=(shape,), dtype="float32", group=group, time=at)


def made_here(name: str, *ranks: int, n: int = 0) -> Group:
    """A group as one of its members knows it: all of them are made by the same call."""
    return Group(type="torch.distributed.ProcessGroup", place=HERE, n=n, name=name, ranks=ranks)


def waits(rank: int, still: float, *issued: Collective) -> RankView:
    sequence = issued or (collective(),)
    return RankView(rank, ended=False, inside=sequence[-1], still=still, issued=sequence)


def outside(rank: int, still: float) -> RankView:
    return RankView(rank, ended=False, inside=None, still=still, issued=(collective(),))


def ended(rank: int, still: float) -> RankView:
    return RankView(rank, ended=True, inside=None, still=still, issued=(collective(),))


class TestStillness:
    """How long a process has done nothing."""

    @pytest.fixture
    def trail(self, tmp_path: Path) -> Trail:
        trail = Trail(str(tmp_path), 5, now=0.0)
        trail.take_status(run_folder.Status(pid=5, rank=0, writer=7), 0.0)
        return trail

    def still_after(self, trail: Trail, *threads: Thread, transferred: int = 0) -> float:
        """Return for how long the process is still when its threads have done this much after two seconds."""
        idle = tuple(thread._replace(cpu=0.0, active=False) for thread in threads)
        trail.take_usage(Usage(pid=5, inner=5, depth=1, threads=idle, transferred=0, memory=0), 0.0)
        trail.take_usage(Usage(pid=5, inner=5, depth=1, threads=threads, transferred=transferred, memory=0), 2.0)
        return trail.still(2.0)

    def test_threads_that_wake_by_the_clock_do_not_count(self, trail: Trail) -> None:
        writer, poller = Thread(7, "python", 1.5, active=True), Thread(8, "gloo_tcp_loop", 1.5, active=True)
        assert self.still_after(trail, Thread(5, "python", 0.0, active=False), writer, poller) == 2.0

    def test_a_thread_that_computed_counts_though_it_sleeps_now(self, trail: Trail) -> None:
        assert self.still_after(trail, Thread(5, "python", 0.5, active=False)) == 0.0

    def test_a_thread_that_runs_or_waits_for_a_disk_counts(self, trail: Trail) -> None:
        assert self.still_after(trail, Thread(9, "pt_autograd_0", 0.0, active=True)) == 0.0

    def test_a_process_that_reads_counts(self, trail: Trail) -> None:
        assert self.still_after(trail, Thread(5, "python", 0.0, active=False), transferred=1 << 24) == 0.0
        assert self.still_after(Trail("", 6, now=0.0), Thread(5, "python", 0.0, active=False), transferred=999) == 2.0

    def test_a_status_that_says_something_new_counts(self, trail: Trail) -> None:
        trail.take_status(run_folder.Status(pid=5, rank=0, time=3.0), 3.0)
        assert trail.still(4.0) == 4.0
        trail.take_status(run_folder.Status(pid=5, rank=0, time=3.5, collectives=1), 3.5)
        assert trail.still(4.0) == 0.5


class TestHang:
    """Who waits for whom, and for how long."""

    @pytest.mark.parametrize(
        ("ranks", "hangs"),
        [
            ([waits(0, 2.9), waits(1, 9)], False),
            ([waits(0, 3.1), waits(1, 3.1)], True),
            ([waits(0, 0.9), ended(1, 9)], False),
            ([waits(0, 1.1), ended(1, 1.1)], True),
            ([waits(0, 9), ended(1, 0.5)], False),
            ([waits(0, 99), outside(1, 99)], False),
            ([waits(0, 99), outside(1, 0.0)], False),
            ([outside(0, 99), outside(1, 99)], False),
            ([ended(0, 99), ended(1, 99)], False),
            ([waits(0, 1.1, collective("barrier")), waits(1, 1.1, collective("all_reduce"))], True),
            ([waits(0, 1.1, collective(shape=(9,))), waits(1, 1.1, collective(shape=(10,)))], True),
            ([], False),
        ],
    )
    def test_a_deadlock_is_one_when_nothing_moves_for_long_enough(self, ranks: list[RankView], hangs: bool) -> None:
        assert deadlocked(ranks, others_still=99) is hangs

    def test_a_process_that_is_no_rank_may_be_what_a_rank_waits_for(self) -> None:
        assert not deadlocked([waits(0, 99), waits(1, 99)], others_still=0.5)

    def test_on_gpus_the_bound_is_longer(self) -> None:
        assert not deadlocked([waits(0, 9.9), waits(1, 9.9)], others_still=99, native=True)
        assert deadlocked([waits(0, 10.1), waits(1, 10.1)], others_still=99, native=True)

    def test_the_first_difference_of_a_group_is_found(self) -> None:
        same, one, other = collective(at=1), collective("barrier", at=2), collective("broadcast", at=2.5)
        found = difference([waits(0, 0, same, one, other), waits(1, 0, same, other, one)])
        assert found is not None and (found.first, found.second) == (one, other)

    def test_groups_are_compared_apart_and_a_longer_sequence_is_no_difference(self) -> None:
        one, other = made_here("1", 0, 1), made_here("2", 0, 1, n=1)
        first = [collective("barrier", group=one), collective("all_reduce", group=other)]
        second = [collective("all_reduce", group=other), collective("barrier", group=one), collective()]
        assert difference([waits(0, 0, *first), waits(1, 0, *second)]) is None

    def test_groups_of_other_ranks_that_one_call_makes_are_not_one(self) -> None:
        first = collective(shape=(3,), group=made_here("1", 0))
        second = collective(shape=(5,), group=made_here("2", 1))
        assert difference([waits(0, 0, first), waits(1, 0, second)]) is None
        same = second.with_(group=made_here("1", 0, 1, n=1))
        assert difference([waits(0, 0, first.with_(group=made_here("1", 0, 1))), waits(1, 0, same)]) is not None

    def test_gathers_may_have_tensors_of_different_shapes_and_sends_any_order(self) -> None:
        first = [collective("all_gather", (3,)), collective("send"), collective("barrier")]
        second = [collective("all_gather", (4,)), collective("recv", (1,)), collective("recv"), collective("barrier")]
        assert difference([waits(0, 0, *first), waits(1, 0, *second)]) is None


def test_a_crash_is_placed_where_the_user_s_code_was() -> None:
    output = (
        "step 1\nFatal Python error: Segmentation fault\n\n"
        "Thread 0x00007f1 [python] (most recent call first):\n"
        '  File "/usr/lib/python3/threading.py", line 9 in wait\n\n'
        "Current thread 0x00007f2 [python] (most recent call first):\n"
        '  File "/p/venv/site-packages/torch/nn.py", line 1 in forward\n'
        '  File "/p/model.py", line 5 in forward\n  File "/p/train.py", line 9 in <module>\n'
    )
    assert last_stack(output, "/p") == (Place("/p/train.py", 9), Place("/p/model.py", 5))
    assert last_stack("all well\n", "/p") == ()


def test_a_copy_s_paths_become_the_users_in_text_and_in_json() -> None:
    translation = Translation([["/tmp/run/scratch/project/é", '/home/u/my "é"']])
    assert translation.text("cannot open /tmp/run/scratch/project/é/a.pt") == 'cannot open /home/u/my "é"/a.pt'
    assert translation.encoded('{"file":"/tmp/run/scratch/project/\\u00e9/a.py"}') == (
        '{"file":"/home/u/my \\"\\u00e9\\"/a.py"}'
    )


def test_the_environment_keeps_what_does_not_tie_to_a_job() -> None:
    kept = environment.cleaned({"PATH": "/bin", "RANK": "1", "SLURM_PROCID": "1", "HF_HOME": "/h"}, "/r", linux=True)
    assert (kept["PATH"], kept["HF_HOME"], kept["DDPDOCTOR_RUN"]) == ("/bin", "/h", "/r")
    assert "RANK" not in kept and "SLURM_PROCID" not in kept and kept["GLOO_SOCKET_IFNAME"] == "lo"
    assert "GLOO_SOCKET_IFNAME" not in environment.cleaned({}, "/r", linux=False)


def test_a_users_threads_are_kept() -> None:
    assert environment.cleaned({"OMP_NUM_THREADS": "6"}, "/r", linux=True)["OMP_NUM_THREADS"] == "6"
    assert environment.cleaned({}, "/r", linux=True)["OMP_NUM_THREADS"] == "2"


def test_the_orders_are_the_same_on_both_sides(tmp_path: Path) -> None:
    plan = PLAN.with_(arguments=("--lr", "1"), steps=5)
    run_folder.write_orders(str(tmp_path), run_folder.Orders(plan=plan, root="/p", began=1.5, containment="copy"))
    orders = run_folder.read_orders(str(tmp_path))
    assert {name: getattr(orders.plan, name) for name in Plan.FIELDS} == {
        name: getattr(plan, name) for name in Plan.FIELDS
    }
    assert (orders.root, orders.began, orders.containment, orders.port) == ("/p", 1.5, "copy", 29500)


def test_a_status_is_the_same_on_both_sides_and_what_is_none_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "status").mkdir()
    status = run_folder.Status(pid=7, rank=1, time=2.5, cpu=0.5, inside=3, stack=(("/p/a.py", 4),), doing="step 1 of 6")
    run_folder.write_status(str(tmp_path), status)
    for name, text in (("8.json", "{"), ("9.json", '{"pid": 9, "colour": 1, "stack": []}'), ("10.json.5~", "{}")):
        (tmp_path / "status" / name).write_text(text)
    assert list(run_folder.read_statuses(str(tmp_path))) == [status._replace(writer=threading.get_native_id())]


@pytest.mark.parametrize(
    ("arguments", "layers", "more", "said"),
    [
        ((), {"probe"}, ("--data DIR",), "ddpdoctor check sub/train.py --probe -- --data DIR"),
        (("--name", "a b"), {"model"}, (), "ddpdoctor check sub/train.py --run -- --name 'a b'"),
    ],
)
def test_the_words_to_pass_are_a_whole_command(
    arguments: tuple[str, ...], layers: set[str], more: tuple[str, ...], said: str
) -> None:
    assert reasons.command(PLAN.with_(arguments=arguments, layers=frozenset(layers)), *more) == said


def test_importing_the_harness_imports_neither_torch_nor_the_machinery() -> None:
    code = "import sys, ddpdoctor.harness; print(sorted({'torch', 'ctypes', 'subprocess'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


def test_a_folder_is_removed_whatever_its_modes(tmp_path: Path) -> None:
    from ddpdoctor.harness.contain.removal import remove

    folder = tmp_path / "run"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").touch(0o400)
    (folder / "closed" / "inner").chmod(0o555)
    (folder / "closed").chmod(0)
    assert remove(str(folder)) and not folder.exists()
    assert remove(str(folder))


def test_why_a_forked_process_could_not_be_prepared_comes_to_its_parent() -> None:
    from ddpdoctor.harness.contain.forking import fork_until_ready

    def refuse(answer: object) -> None:
        raise OSError(errno.EPERM, "not here")

    with pytest.raises(OSError, match="not here"):
        fork_until_ready(refuse)

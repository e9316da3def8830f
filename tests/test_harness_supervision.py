"""How a run ends, and what is said of it: hangs, failures, time and memory."""

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from ddpdoctor.events import Blocked, Collective, Ended, Raised

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)


def ends(harness: "Harness") -> dict[int | None, str]:
    assert harness.last is not None and harness.last.trace is not None
    return {event.rank: event.how for event in harness.last.trace.of(Ended)}


def blocked(harness: "Harness") -> dict[int | None, Blocked]:
    assert harness.last is not None and harness.last.trace is not None
    return {event.rank: event for event in harness.last.trace.of(Blocked)}


def test_a_run_that_ends_is_observed_on_every_rank_in_the_order_of_time(harness: "Harness") -> None:
    seen = harness.run(
        """
        child.wrap()
        child.collective(wait=0.05)
        """
    )
    assert {layer: state.state for layer, state in seen.layers.items()} == {"model": "checked", "probe": "checked"}
    assert ends(harness) == {0: "natural", 1: "natural"}
    assert seen.trace is not None and seen.trace.ranks == (0, 1) and seen.trace.redirected
    times = [event.time for event in seen.trace]
    assert times == sorted(times) and times[0] >= 0
    assert {event.place.file for event in seen.trace} == {str(harness.folder / "train.py")}


def test_a_hang_is_told_within_five_seconds_of_the_last_rank_that_waits(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        time.sleep(0.5 * RANK)
        child.collective("barrier", wait=60)
        """
    )
    last = max(event.time for event in seen.trace.of(Collective))
    stopped = blocked(harness)
    assert set(stopped) == {0, 1}
    assert stopped[1].time - last < 5.0
    assert stopped[0].inside.op == "barrier" and stopped[0].place.line == 5
    assert stopped[0].seconds == pytest.approx(stopped[0].time - stopped[0].inside.time)
    assert seen.seconds < last + 7
    assert seen.layers["probe"].state == "checked"
    assert ends(harness) == {0: "cut", 1: "cut"}


def test_a_rank_that_ended_while_another_waits_is_a_hang_at_once(harness: "Harness") -> None:
    seen = harness.run(
        """
        child.wrap()
        if RANK == 0:
            child.collective("all_reduce", wait=60)
        """
    )
    assert set(blocked(harness)) == {0}
    assert blocked(harness)[0].seconds < 3.0
    assert ends(harness) == {0: "cut", 1: "natural"}
    assert seen.seconds < 5


def test_ranks_in_different_collectives_are_told_sooner_than_three_seconds(harness: "Harness") -> None:
    harness.run(
        """
        child.wrap()
        child.collective("barrier" if RANK else "all_reduce", wait=60)
        """
    )
    assert {rank: event.inside.op for rank, event in blocked(harness).items()} == {0: "all_reduce", 1: "barrier"}
    assert blocked(harness)[0].seconds < 2.5


def test_a_rank_that_computes_while_another_waits_is_no_hang(harness: "Harness") -> None:
    harness.run(
        """
        import time
        child.wrap()
        if RANK == 0:
            child.collective(wait=5.5)
        else:
            end = time.monotonic() + 5
            while time.monotonic() < end:
                pass
            child.collective(wait=0.1)
        """
    )
    assert blocked(harness) == {}
    assert ends(harness) == {0: "natural", 1: "natural"}


def test_a_child_of_a_rank_that_computes_is_no_hang(harness: "Harness") -> None:
    harness.run(
        """
        import subprocess, sys
        child.wrap()
        if RANK == 0:
            child.collective(wait=5.5)
        else:
            burn = "import time; end = time.monotonic() + 5\\nwhile time.monotonic() < end: pass"
            subprocess.run([sys.executable, "-c", burn], check=True)
            child.collective(wait=0.1)
        """
    )
    assert blocked(harness) == {}


@pytest.mark.slow
def test_a_rank_that_sleeps_while_another_waits_is_told_from_one_that_computes(harness: "Harness") -> None:
    harness.run(
        """
        import time
        child.wrap()
        if RANK == 0:
            child.collective(wait=60)
        time.sleep(60)
        """
    )
    stopped = blocked(harness)
    assert stopped[0].inside is not None
    assert (stopped[1].inside, stopped[1].busy, stopped[1].place.line) == (None, False, 6)
    assert 9 <= stopped[1].seconds < 12


def test_a_timeout_says_where_each_rank_was_and_whether_it_computed(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.say("GroupInit")
        if RANK == 0:
            time.sleep(60)
        while True:
            pass
        """,
        timeout=2.5,
    )
    stopped = blocked(harness)
    assert (stopped[0].busy, stopped[0].place.line) == (False, 5)
    assert (stopped[1].busy, stopped[1].place.line in (6, 7)) == (True, True)
    reason = seen.layers["probe"].reason
    assert reason.startswith(
        "the script had not ended after 2 s and had wrapped no model, then at train.py:5, train.py:"
    )
    assert "--timeout" in reason
    assert seen.layers["model"].state == seen.layers["probe"].state == "not-run"


def test_the_first_exception_is_the_cause_and_the_rest_is_cut(harness: "Harness") -> None:
    seen = harness.run(
        """
        child.wrap()
        if RANK == 1:
            raise ValueError("loss is nan")
        child.collective(wait=60)
        """
    )
    raised = seen.trace.of(Raised)
    assert [(event.rank, event.type, event.message, event.place.line) for event in raised] == [
        (1, "builtins.ValueError", "loss is nan", 4)
    ]
    assert blocked(harness) == {}
    assert ends(harness) == {0: "cut", 1: "exception"}
    assert seen.layers["probe"].state == "checked"
    assert seen.seconds < 5


def test_what_a_peer_says_of_a_failed_rank_comes_after_the_cause(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        if RANK == 1:
            raise ValueError("first")
        time.sleep(0.5)
        raise RuntimeError("Connection closed by peer")
        """
    )
    assert [(event.rank, event.caused_by_peer) for event in seen.trace.of(Raised)] == [(1, False), (0, True)]
    assert blocked(harness) == {}
    assert ends(harness) == {0: "exception", 1: "exception"}


def test_a_peer_that_left_in_good_order_makes_a_hang_of_the_error_that_the_other_gets(harness: "Harness") -> None:
    harness.run(
        """
        import time
        child.wrap()
        if RANK == 0:
            child.collective("all_reduce", wait=0.5)
            raise RuntimeError("Connection closed by peer")
        """
    )
    assert {rank: event.inside.op for rank, event in blocked(harness).items()} == {0: "all_reduce"}
    assert ends(harness) == {0: "exception", 1: "natural"}


def test_a_rank_that_dies_by_a_signal_has_raised_it(harness: "Harness") -> None:
    seen = harness.run(
        """
        import os, signal, time
        child.wrap()
        if RANK == 1:
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGSEGV)
        child.collective(wait=60)
        """
    )
    (raised,) = seen.trace.of(Raised)
    assert (raised.rank, raised.type, raised.caused_by_peer, raised.ours) == (1, "SIGSEGV", False, False)
    assert raised.place.line == 6
    assert ends(harness) == {0: "cut", 1: "killed"}
    (ended,) = (event for event in seen.trace.of(Ended) if event.rank == 1)
    assert ended.status == -11


def test_an_abort_after_different_shapes_is_the_consequence(harness: "Harness") -> None:
    seen = harness.run(
        """
        import os, signal
        child.wrap()
        child.collective("all_reduce", shape=(9 + RANK,), wait=0.3)
        if RANK == 1:
            os.kill(os.getpid(), signal.SIGABRT)
        child.collective(wait=60)
        """
    )
    assert [event.caused_by_peer for event in seen.trace.of(Raised)] == [True]
    assert {rank: event.inside.shapes for rank, event in blocked(harness).items()} == {0: ((9,),), 1: ((10,),)}


def test_a_status_other_than_zero_ends_the_run_as_torchrun_would(harness: "Harness") -> None:
    seen = harness.run(
        """
        import sys
        child.wrap()
        if RANK == 1:
            sys.exit(3)
        child.collective(wait=60)
        """
    )
    assert ends(harness) == {0: "cut", 1: "exit"}
    assert {event.rank: event.status for event in seen.trace.of(Ended)}[1] == 3
    assert blocked(harness) == {}


def test_what_a_peer_says_of_a_rank_that_left_with_a_status_is_no_hang(harness: "Harness") -> None:
    seen = harness.run(
        """
        import sys, time
        child.wrap()
        if RANK == 1:
            sys.exit(3)
        child.collective(wait=0.3)
        raise RuntimeError("Connection closed by peer")
        """
    )
    assert blocked(harness) == {}
    assert [event.caused_by_peer for event in seen.trace.of(Raised)] == [True]


def test_an_end_without_a_word_is_an_exit(harness: "Harness") -> None:
    harness.run(
        """
        import os
        child.wrap()
        os._exit(0)
        """
    )
    assert ends(harness) == {0: "exit", 1: "exit"}


def test_a_rank_that_its_starter_ended_when_another_failed_was_killed(harness: "Harness") -> None:
    harness.run(
        """
        import os, signal, time
        children = []
        for rank in range(2):
            pid = os.fork()
            if pid == 0:
                child.__init__(child.folder)
                child.rank = rank
                child.wrap()
                if rank == 1:
                    time.sleep(0.5)
                    child.say("Raised", type="ValueError", message="bad batch")
                    child.say("Ended", how="exception", status=1)
                    os._exit(1)
                time.sleep(60)
            children.append(pid)
        os.waitpid(children[1], 0)
        os.kill(children[0], signal.SIGTERM)
        os.waitpid(children[0], 0)
        raise RuntimeError("Connection closed by peer: process 1 failed")
        """,
        style="spawn",
    )
    assert ends(harness) == {0: "killed", 1: "exception", None: "exception"}


def test_processes_that_a_script_leaves_running_are_ended(harness: "Harness") -> None:
    seen = harness.run(
        """
        import subprocess, sys
        child.wrap()
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        """
    )
    assert ends(harness) == {0: "natural", 1: "natural"}
    assert seen.seconds < 6


def test_children_of_a_script_that_ended_are_watched_to_their_end(harness: "Harness") -> None:
    seen = harness.run(
        """
        import os, time
        if os.fork() == 0:
            child.__init__(child.folder)
            child.rank = 0
            child.wrap()
            time.sleep(3)
            child.say("Ended", how="natural")
            os._exit(0)
        """,
        style="spawn",
    )
    assert ends(harness) == {None: "natural", 0: "natural"}
    by_rank = {event.rank: event.time for event in seen.trace.of(Ended)}
    assert by_rank[0] - by_rank[None] > 2


def test_a_run_that_needs_more_memory_than_it_may_is_ended_before_the_kernel_does(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        hoard = [bytearray(1 << 22) for _ in range(600 if RANK else 1)]
        time.sleep(60)
        """,
        memory=1200 << 20,
    )
    assert seen.layers["probe"].state == "not-run"
    reason = seen.layers["probe"].reason
    assert reason.startswith("the run was stopped because memory ran short (it used ") and "--ranks" in reason
    assert ends(harness) == {0: "memory", 1: "memory"}
    assert seen.seconds < 10


def test_a_rank_that_says_what_it_needs_is_ended_before_it_takes_it(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        child.need = 1 << 31
        time.sleep(60)
        """,
        memory=1200 << 20,
    )
    assert "it needs about " in seen.layers["probe"].reason
    assert seen.seconds < 5


def test_a_kill_for_want_of_memory_is_not_the_scripts_fault(
    harness: "Harness", monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter((7, 8))
    monkeypatch.setattr("ddpdoctor.harness.memory.oom_kills", lambda: next(kills))
    seen = harness.run(
        """
        import os, signal
        child.wrap()
        if RANK == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        child.collective(wait=60)
        """
    )
    assert seen.trace.of(Raised) == ()
    assert ends(harness) == {0: "cut", 1: "memory"}
    assert seen.layers["probe"].state == "not-run"
    assert seen.layers["probe"].reason == ("the run was stopped because memory ran short: fewer --ranks need less")


def test_a_kill_from_outside_is_said(harness: "Harness") -> None:
    seen = harness.run(
        """
        import os, signal
        child.wrap()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert {event.type for event in seen.trace.of(Raised)} == {"SIGKILL"}
    assert ends(harness) == {0: "killed", 1: "killed"}


def test_a_rank_that_never_came_to_say_anything_has_an_end(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    from ddpdoctor.harness import ordering

    monkeypatch.setattr(ordering, "START", f"import os\nif os.environ['RANK'] == '1': os._exit(5)\n{ordering.START}")
    seen = harness.run("child.wrap()\nchild.collective(wait=60)")
    assert ends(harness) == {0: "cut", 1: "exit"}
    assert seen.trace.ranks == (0, 1)


def test_progress_says_what_the_ranks_do_and_for_how_long(harness: "Harness") -> None:
    harness.run(
        """
        import time
        child.wrap()
        child.doing("step 1 of 6")
        time.sleep(1.7)
        """
    )
    assert harness.said[0] == "starting"
    assert any(words.startswith("step 1 of 6, ") and words.endswith(" s") for words in harness.said)
    assert len(harness.said) <= 2 + 2 * 2.5


def test_an_event_that_is_written_again_takes_the_place_of_the_first(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.say("GroupInit")
        child.say("Warned", text="seen")
        child.say("GroupDestroyed")
        time.sleep(0.2)
        child.order = 1
        child.say("Warned", text="seen in full")
        child.order = 3
        """,
        style="single",
    )
    from ddpdoctor.events import Warned

    assert [type(event).__name__ for event in seen.trace] == ["GroupInit", "Warned", "GroupDestroyed", "Ended"]
    assert seen.trace.of(Warned)[0].text == "seen in full"


def test_the_indices_of_an_epoch_come_from_their_file(harness: "Harness") -> None:
    seen = harness.run(
        """
        import array
        from ddpdoctor.harness.run_folder import indices_path
        from ddpdoctor.place import Place
        from ddpdoctor.value import Ref
        order = child.order + 1
        with open(indices_path(child.folder, child.pid, order), "wb") as file:
            array.array("q", range(RANK, 100_000, SIZE)).tofile(file)
        loader = Ref(type="torch.utils.data.DataLoader", place=Place(__file__, 1))
        child.say("EpochBegun", loader=loader, number=1, length=5)
        """,
    )
    from ddpdoctor.events import EpochBegun

    begun = {event.rank: event.indices for event in seen.trace.of(EpochBegun)}
    assert list(begun[0][:3]) == [0, 2, 4] and list(begun[1][:3]) == [1, 3, 5]
    assert [len(indices) for indices in begun.values()] == [50_000, 50_000]
    assert all(second - first == 2 for first, second in pairwise(begun[0]))

"""What is said of a run in which a rank fails, dies or lacks memory: the first cause, and what follows from it."""

from typing import TYPE_CHECKING

import pytest

from ddpdoctor.events import Blocked, Ended, Raised

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)


def ends(harness: "Harness") -> dict[int | None, str]:
    assert harness.last is not None and harness.last.trace is not None
    return {event.rank: event.how for event in harness.last.trace.of(Ended)}


def blocked(harness: "Harness") -> dict[int | None, Blocked]:
    assert harness.last is not None and harness.last.trace is not None
    return {event.rank: event for event in harness.last.trace.of(Blocked)}


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
    assert [(event.rank, event.caused_by_peer) for event in seen.trace.of(Raised)] == [(1, False), (0, True)]


def test_a_status_that_nothing_else_tells_of_is_a_failure_of_the_rank(harness: "Harness") -> None:
    seen = harness.run("import os, time\nchild.wrap()\nif RANK: os._exit(7)\nchild.collective(wait=60)\n")
    (raised,) = seen.trace.of(Raised)
    assert (raised.rank, raised.status, raised.caused_by_peer) == (1, 7, False)


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

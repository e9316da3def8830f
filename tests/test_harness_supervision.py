"""How long a run is watched and what is told of it: hangs, ends, time and progress."""

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from ddpdoctor.events import Blocked, Collective, Ended

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


def test_a_rank_that_sleeps_while_another_waits_may_yet_come(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        if RANK == 0:
            child.collective(wait=60)
        time.sleep(60)
        """,
        timeout=4.0,
    )
    stopped = blocked(harness)
    assert stopped[0].inside is not None
    assert (stopped[1].inside, stopped[1].busy, stopped[1].place.line) == (None, False, 6)
    assert not any(event.for_ever for event in stopped.values())
    assert seen.layers["probe"].state == "not-run"


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

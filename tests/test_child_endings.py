"""How a process left: an exit status is a failure, with the exception that was being handled as its cause."""

import threading

import pytest
from child_run import child, line

from ddpdoctor.events import Ended, Raised
from ddpdoctor.harness.child.observer import unended_thread


@pytest.mark.parametrize(
    ("script", "raised"),
    [
        ("import sys\nsys.exit(3)\n", ("SystemExit", "", 3, 2)),
        ("import sys\nsys.exit('loss is nan')\n", ("SystemExit", "loss is nan", 1, 2)),
        ("import os\nos._exit(5)\n", ("os._exit", "", 5, 2)),
        ("import atexit, os\natexit.register(lambda: os._exit(9))\n", ("os._exit", "", 9, 2)),
        ("import sys\ntry:\n    1 / 0\nexcept Exception:\n    sys.exit(1)\n", ("ZeroDivisionError", None, None, 3)),
        ("import os\ntry:\n    1 / 0\nexcept Exception:\n    os._exit(1)\n", ("ZeroDivisionError", None, None, 3)),
    ],
)
def test_a_status_other_than_zero_is_a_failure(tmp_path, script, raised):
    run = child(tmp_path, script)
    event = run.one(Raised)
    assert (event.type, event.status, line(event)) == (raised[0], *raised[2:])
    assert raised[1] is None or event.message == raised[1]
    assert run.one(Ended).how == "exit" and run.exits[0] == run.one(Ended).status != 0


@pytest.mark.parametrize("leave", ["sys.exit(0)", "sys.exit()", "os._exit(0)"])
def test_leaving_with_status_zero_is_none(tmp_path, leave):
    run = child(tmp_path, f"import os, sys\ntry:\n    1 / 0\nexcept ArithmeticError:\n    {leave}\n")
    assert not run.of(Raised) and run.exits == (0,)


def test_a_thread_that_the_interpreter_waits_for_is_known():
    over = threading.Event()
    threads = [threading.Thread(target=over.wait, name=name, daemon=name == "daemon") for name in ("daemon", "writer")]
    assert unended_thread() is None
    for thread in threads:
        thread.start()
    try:
        assert unended_thread() is threads[1]
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_the_status_of_a_process_that_is_no_rank_is_its_own(tmp_path):
    script = """
        import multiprocessing, sys

        def look():
            sys.exit(4)

        if __name__ == "__main__":
            process = multiprocessing.get_context("fork").Process(target=look)
            process.start()
            process.join()
            assert process.exitcode == 4
        """
    run = child(tmp_path, script)
    assert not run.of(Raised) and run.exits == (0,)

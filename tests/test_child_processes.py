"""The processes that a script starts are observed from their first line to their end."""

import sys

import pytest
from child_run import child, line

from ddpdoctor.events import Ended, EnvSet, ProcessJoined, ProcessStarted, Raised

METHODS = ["spawn", "fork", "forkserver"] if sys.platform == "linux" else ["spawn"]

PROCESSES = """
import multiprocessing as mp
import os, sys


def work(rank, world_size):
    os.environ["RANK"] = str(rank)
    for step in range(2):
        print("works", rank, flush=True)
    if rank == 1 and "fail" in sys.argv:
        raise ValueError("rank 1 has had enough")
    if rank == 1 and "exit" in sys.argv:
        sys.exit(3)


if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    processes = []
    for rank in range(2):
        process = mp.Process(target=work, args=(rank, 2))
        process.start()
        processes.append(process)
    for process in processes:
        if "unjoined" not in sys.argv:
            process.join()
    print("parent ends", flush=True)
"""


def at(script, text):
    return next(number for number, row in enumerate(script.splitlines(), 1) if text in row)


@pytest.mark.parametrize("method", METHODS)
def test_processes_are_observed_whatever_starts_them(tmp_path, method):
    run = child(tmp_path, PROCESSES, arguments=[method])
    assert not run.of(Raised), run.output
    started = run.of(ProcessStarted)
    assert [(line(event), event.method, event.target, event.child) for event in started] == [
        (at(PROCESSES, "process.start()"), method, "work", "child 0")
    ] * 2
    assert [(line(event), event.started.n) for event in run.of(ProcessJoined)] == [
        (at(PROCESSES, "process.join()"), 0),
        (at(PROCESSES, "process.join()"), 1),
    ]
    written = run.of(EnvSet)
    assert [
        (event.process, event.rank, event.value.value) for event in sorted(written, key=lambda event: event.rank)
    ] == [
        ("child 0", 0, "0"),
        ("child 0", 1, "1"),
    ]
    assert {line(event) for event in written} == {at(PROCESSES, 'os.environ["RANK"]')}
    assert {event.stack for event in written} == {()}, "a started process begins in its target"
    assert run.ends() == {0: "natural", 1: "natural", None: "natural"}
    assert {(status.rank, status.done) for status in run.statuses} == {(None, True), (0, True), (1, True)}


@pytest.mark.parametrize("method", METHODS)
def test_an_exception_in_a_started_process_is_seen(tmp_path, method):
    run = child(tmp_path, PROCESSES, arguments=[method, "fail"])
    raised = run.one(Raised)
    assert (raised.rank, raised.type, raised.message) == (1, "ValueError", "rank 1 has had enough")
    assert line(raised) == at(PROCESSES, "raise ValueError")
    assert not raised.ours
    assert run.ends() == {0: "natural", 1: "exception", None: "natural"}
    assert "ValueError: rank 1 has had enough" in run.output


@pytest.mark.parametrize("method", METHODS)
def test_a_started_process_that_exits(tmp_path, method):
    run = child(tmp_path, PROCESSES, arguments=[method, "exit"])
    assert {event.rank: (event.how, event.status) for event in run.of(Ended)} == {
        0: ("natural", 0),
        1: ("exit", 3),
        None: ("natural", 0),
    }


def test_the_end_of_a_parent_that_joins_nobody_comes_before_its_childrens(tmp_path):
    run = child(tmp_path, PROCESSES, arguments=["spawn", "unjoined"])
    assert not run.of(ProcessJoined)
    ends = run.of(Ended)
    assert (ends[0].rank, ends[0].how, ends[0].alive) == (None, "natural", 2)
    assert {event.rank for event in ends[1:]} == {0, 1}, "they are watched to their end"
    assert run.exits == (0,)


def test_a_librarys_own_processes_are_left_alone(tmp_path):
    script = """
        import multiprocessing as mp
        if __name__ == "__main__":
            with mp.Manager() as manager:
                shared = manager.dict(step=1)
                assert shared["step"] == 1
            print("the end", flush=True)
    """
    run = child(tmp_path, script)
    assert "the end" in run.output
    assert not run.of(ProcessStarted)
    assert [event.rank for event in run.of(Ended)] == [None]


SPAWN = """
import os, sys
import torch.multiprocessing as mp
from torch.multiprocessing import spawn


def worker(rank, world_size, word):
    os.environ["WORLD_SIZE"] = str(world_size)
    if rank == 1 and word == "fail":
        raise KeyError("rank 1 fails")


if __name__ == "__main__":
    spawn(worker, args=(2, "go"), nprocs=2)
    context = mp.start_processes(worker, args=(2, "go"), nprocs=1, join=False, start_method="fork", daemon=True)
    while not context.join():
        pass
    mp.spawn(worker, (2, "fail"), 2)
"""


def test_spawned_ranks_and_the_exception_that_torch_passes_on(tmp_path):
    pytest.importorskip("torch")
    run = child(tmp_path, SPAWN)
    assert [
        (line(event), event.method, event.target, event.count.value, event.join.value, event.daemon.value, event.child)
        for event in run.of(ProcessStarted)
    ] == [
        (at(SPAWN, '"go"), nprocs=2'), "spawn", "worker", 2, True, False, "child 0"),
        (at(SPAWN, "start_processes("), "fork", "worker", 1, False, True, "child 1"),
        (at(SPAWN, '"fail"), 2'), "spawn", "worker", 2, True, False, "child 2"),
    ]
    assert [line(event) for event in run.of(ProcessJoined)] == [
        at(SPAWN, '"go"), nprocs=2'),
        at(SPAWN, "context.join()"),
        at(SPAWN, '"fail"), 2'),
    ]
    own, passed_on = run.of(Raised)
    assert (own.process, own.rank, own.type, line(own)) == ("child 2", 1, "KeyError", at(SPAWN, "raise KeyError"))
    assert own.stack == ()
    assert (passed_on.process, passed_on.rank, line(passed_on)) == ("main", None, at(SPAWN, '"fail"), 2'))
    assert passed_on.type.endswith("ProcessRaisedException")
    assert (own.caused_by_peer, passed_on.caused_by_peer) == (False, True)
    assert run.exits == (1,)
    assert [event.how for event in run.of(Ended) if event.process == "main"] == ["exception"]
    assert [event.how for event in run.of(Ended) if event.process == "child 2" and event.rank == 1] == ["exception"]

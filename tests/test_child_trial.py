"""What an exception at a training step would lead to is found out in a copy of the process."""

import sys

import pytest
from child_run import child, line

from ddpdoctor.events import Cut, Ended, FileUsed, GroupDestroyed, OptimizerStep, Raised, Trial

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")

SCRIPT = """
import atexit, contextlib, multiprocessing as mp, threading, time
import torch
import torch.distributed as dist
import torch._dynamo  # DDP imports it: once here, not in every process
from torch.nn.parallel import DistributedDataParallel


def setup():
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


def train():
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(50):
        model(torch.randn(2, 2)).sum().backward()
        optimizer.step()                                                  # step


def bare():
    setup()
    train()
    dist.destroy_process_group()


def protected():
    setup()
    try:
        train()
    finally:
        dist.barrier()
        torch.save({}, "last.pt")
        dist.destroy_process_group()


@contextlib.contextmanager
def group():
    setup()
    yield
    dist.destroy_process_group()


def badly_managed():
    with group():
        train()


def decorated(function):
    def run():
        setup()
        try:
            return function()
        except Exception:
            dist.destroy_process_group()
            raise
        else:
            dist.destroy_process_group()
    return run


def caught():
    setup()
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(50):
        try:
            model(torch.randn(2, 2)).sum().backward()
            optimizer.step()
        except RuntimeError:
            print("skipped a bad batch", flush=True)
    dist.destroy_process_group()


def stuck():
    setup()
    try:
        train()
    except RuntimeError:
        time.sleep(100)
        dist.destroy_process_group()


def threaded():
    setup()
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="prefetcher")
    thread.start()
    train()
    over.set()
    thread.join()


if __name__ == "__main__":
    context = mp.get_context("fork")
    for target in (bare, protected, badly_managed, decorated(train), caught, stuck, threaded):
        process = context.Process(target=target)
        process.start()
        process.join()
    setup()
    atexit.register(dist.destroy_process_group)
    train()
"""

KINDS = ("bare", "protected", "badly_managed", "decorated", "caught", "stuck", "threaded")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return child(tmp_path_factory.mktemp("trial"), SCRIPT)


def by_kind(run, kind):
    """The events of a kind by the function that the process ran, one after the other; the main process came first."""
    return {
        name: [event for event in events if isinstance(event, kind)]
        for name, events in zip(("main", *KINDS), run.processes, strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "destroyed", "finished"),
    [
        ("bare", False, True),
        ("protected", True, True),
        ("badly_managed", False, True),
        ("decorated", True, True),
        ("stuck", False, False),
        ("main", True, True),
    ],
)
def test_whether_the_exception_reaches_the_destroy(run, kind, destroyed, finished):
    (trial,) = by_kind(run, Trial)[kind]
    assert (trial.destroyed, trial.finished, trial.rank) == (destroyed, finished, 0)
    assert "# step" in SCRIPT.splitlines()[line(trial) - 1]


@pytest.mark.parametrize(("kind", "why"), [("caught", "goes on"), ("threaded", "threads of its own (prefetcher)")])
def test_what_cannot_be_tried_out_says_so(run, kind, why):
    assert not by_kind(run, Trial)[kind]
    assert any(why in cut.why for cut in by_kind(run, Cut)[kind] if cut.what == "what an exception would lead to")


def test_the_process_itself_notices_nothing(run):
    assert not run.of(Raised), run.output
    assert "skipped a bad batch" not in run.output
    steps = by_kind(run, OptimizerStep)
    assert {kind: len(events) for kind, events in steps.items()} == dict.fromkeys((*KINDS, "main"), 6)
    ended = by_kind(run, GroupDestroyed)
    assert [kind for kind in ("bare", "protected", "badly_managed", "caught", "main") if len(ended[kind]) != 1] == []
    assert len(run.of(FileUsed, op="save")) == 1, "the copy saves nothing"
    assert {event.how for event in run.of(Ended)} == {"natural"}

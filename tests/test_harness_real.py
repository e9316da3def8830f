"""Real runs: unmodified scripts of torch's, observed from the parent's side."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ddpdoctor.events import Blocked, Collective, Ended, ModelWrapped, OptimizerStep, Raised
from ddpdoctor.harness import Observation, Plan, observe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="runs need Linux or macOS")

TRAINING = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(rank, size):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=size)
    try:
        model = DDP(torch.nn.Linear(4, 2).cuda(rank), device_ids=[rank])
        data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
        sampler = DistributedSampler(data)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(90):
            sampler.set_epoch(epoch)
            for step, (x, y) in enumerate(DataLoader(data, batch_size=4, sampler=sampler)):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x.cuda(rank)), y.cuda(rank))
                loss.backward()
                optimizer.step()
{inner}
        if rank == 0:
            torch.save(model.module.state_dict(), "model.pt")
    finally:
        dist.destroy_process_group()
"""

TORCHRUN = """

if __name__ == "__main__":
    train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
"""

SPAWN = """

def worker(rank, size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    train(rank, size)


if __name__ == "__main__":
    size = torch.cuda.device_count()
    torch.multiprocessing.spawn(worker, args=(size,), nprocs=size)
"""


def run(folder: Path, inner: str = "", start: str = TORCHRUN, **fields: Any) -> Observation:
    script = folder / "train.py"
    script.write_text(TRAINING.format(inner=textwrap.indent(inner, " " * 16)) + start)
    given = {"layers": frozenset({"model", "probe"}), "timeout": 90.0, "directory": str(folder), **fields}
    seen = observe(
        Plan(script=str(script), style="spawn" if start is SPAWN else "torchrun", **given), lambda words: None
    )
    assert [path.name for path in folder.iterdir()] == ["train.py"]
    return seen


def how(seen: Observation) -> dict[int | None, str]:
    assert seen.trace is not None
    return {event.rank: event.how for event in seen.trace.of(Ended)}


slow = pytest.mark.slow


@pytest.mark.parametrize(
    "containment", ["auto", pytest.param("rootless", marks=slow), pytest.param("copy", marks=slow)]
)
def test_a_right_script_is_observed_to_its_end(tmp_path: Path, containment: str) -> None:
    seen = run(tmp_path, containment=containment)
    assert {layer: (state.state, state.reason) for layer, state in seen.layers.items()} == {
        "model": ("checked", None),
        "probe": ("checked", None),
    }
    assert how(seen) == {0: "natural", 1: "natural"}
    assert seen.trace is not None and seen.trace.of(Raised) == () and seen.trace.of(Blocked) == ()
    for rank in (0, 1):
        assert len(seen.trace.on(rank, ModelWrapped)) == 1
        assert len(seen.trace.on(rank, OptimizerStep)) == 6
    assert {event.place.file for event in seen.trace.of(OptimizerStep)} == {str(tmp_path / "train.py")}


def test_a_spawning_script_is_observed_in_its_children(tmp_path: Path) -> None:
    seen = run(tmp_path, start=SPAWN)
    assert {layer: (state.state, state.reason) for layer, state in seen.layers.items()} == {
        "model": ("checked", None),
        "probe": ("checked", None),
    }
    assert how(seen) == {None: "natural", 0: "natural", 1: "natural"}


@pytest.mark.parametrize("start", [TORCHRUN, pytest.param(SPAWN, marks=slow)], ids=["torchrun", "spawn"])
def test_a_deadlock_is_told_with_where_each_rank_waits(tmp_path: Path, start: str) -> None:
    seen = run(tmp_path, "if rank == 0:\n    dist.all_reduce(loss.detach())\n", start)
    assert seen.trace is not None
    blocked = {event.rank: event for event in seen.trace.of(Blocked)}
    assert set(blocked) == {0, 1}
    ops = {rank: (event.inside.op, event.inside.origin) for rank, event in blocked.items() if event.inside}
    assert ops[0] == ("all_reduce", "user") and ops[1][1] != "user"
    line = TRAINING[: TRAINING.index("{inner}")].count("\n") + 2
    assert blocked[0].place.line == line
    last = max(event.time for event in seen.trace.of(Collective))
    assert blocked[0].time - last < 5
    assert seen.layers["probe"].state == "checked"


@pytest.mark.parametrize("start", [pytest.param(TORCHRUN, marks=slow), SPAWN], ids=["torchrun", "spawn"])
def test_an_exception_on_one_rank_comes_first_and_is_no_hang(tmp_path: Path, start: str) -> None:
    seen = run(tmp_path, 'if rank == 1 and step == 1:\n    raise ValueError("bad batch")\n', start)
    assert seen.trace is not None and seen.trace.of(Blocked) == ()
    first, *later = seen.trace.of(Raised)
    assert (first.rank, first.type, first.message, first.caused_by_peer) == (1, "ValueError", "bad batch", False)
    assert all(raised.caused_by_peer for raised in later)
    assert seen.layers["probe"].state == "checked"


@slow
def test_a_crash_of_a_rank_is_placed(tmp_path: Path) -> None:
    crash = "if rank == 1 and step == 1:\n    import ctypes\n    ctypes.string_at(0)\n"
    seen = run(tmp_path, crash)
    assert seen.trace is not None
    (raised,) = (event for event in seen.trace.of(Raised) if not event.caused_by_peer)
    assert (raised.rank, raised.type) == (1, "SIGSEGV")
    assert raised.place.line == TRAINING[: TRAINING.index("{inner}")].count("\n") + 3


def test_a_script_without_its_arguments_says_what_to_pass(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
        "parser.parse_args()\n"
    )
    plan = Plan(script=str(script), directory=str(tmp_path), style="single", layers=frozenset({"probe"}))
    state = observe(plan, lambda words: None).layers["probe"]
    assert (state.state, state.reason) == (
        "not-run",
        "train.py needs the arguments --data: pass them after --, as in "
        "`ddpdoctor check train.py --probe -- --data DATA`",
    )

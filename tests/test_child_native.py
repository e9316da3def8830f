"""Observation does not depend on redirection, and a script for CPUs is not taken for one for GPUs."""

import pytest
from child_run import child, line

from ddpdoctor.events import (
    Collective,
    CudaTouched,
    Cut,
    Ended,
    GradientsSeen,
    GroupInit,
    ModelWrapped,
    OptimizerStep,
    Raised,
    Substituted,
)

pytest.importorskip("torch")

SCRIPT = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")                                           # init
model = DDP(torch.nn.Linear(4, 4))                                        # wraps
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    optimizer.zero_grad()
    model(torch.randn(2, 4)).sum().backward()                             # backward
    optimizer.step()
    if step == 0:
        dist.all_reduce(torch.ones(1))                                    # reduces
assert step == last, step
if dist.get_rank() == 1:
    torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(4))(torch.randn(2, 4))   # fails
"""


def at(marker):
    return next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f"# {marker}"))


@pytest.mark.parametrize("backend", ["native", "redirect"])
def test_a_script_for_cpus_is_left_alone(tmp_path, backend):
    run = child(tmp_path, SCRIPT.replace("last", "5"), style="torchrun", ranks=2, backend=backend)
    for rank in (0, 1):
        begun = run.one(GroupInit, rank=rank)
        assert (line(begun), begun.backend.value) == (at("init"), "gloo")
        reduced = [event for event in run.of(Collective, rank=rank) if line(event) == at("reduces")]
        assert [(event.op, event.origin) for event in reduced] == [("all_reduce", "user")]
        assert {event.origin for event in run.of(Collective, rank=rank) if line(event) == at("backward")} >= {"reducer"}
        assert len(run.of(OptimizerStep, rank=rank)) == 6
        assert len(run.of(GradientsSeen, rank=rank)) == 6
    assert len({event.digest for event in run.of(GradientsSeen)}) == 6, "averaged: the same on both ranks"
    assert len(run.of(ModelWrapped)) == 2
    assert not run.of(CudaTouched)
    assert not run.of(Substituted)
    raised = run.one(Raised)
    assert (raised.rank, raised.type, line(raised)) == (1, "ValueError", at("fails"))
    assert "SyncBatchNorm expected input tensor to be on GPU" in raised.message
    assert not raised.ours
    assert raised.after_cut


def test_the_model_layer_alone_takes_one_step(tmp_path):
    script = SCRIPT.replace("last", "0").partition("if dist.get_rank() == 1:")[0]
    run = child(tmp_path, script, style="torchrun", ranks=2, layers=frozenset({"model"}))
    assert not run.of(Raised), run.output
    assert {rank: len(run.of(OptimizerStep, rank=rank)) for rank in (0, 1)} == {0: 1, 1: 1}
    assert run.ends() == {0: "natural", 1: "natural"}
    assert [event.what for event in run.of(Cut, rank=1)] == ["the training loops"]


def test_a_training_that_cannot_be_ended_is_left(tmp_path):
    script = """
        import torch
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def train(step):
            try:
                model(torch.randn(1, 2)).sum().backward()
                optimizer.step()
            except Exception:
                pass
            if step < 900:
                train(step + 1)

        train(0)
        print("unreachable", flush=True)
    """
    run = child(tmp_path, script)
    assert len(run.of(OptimizerStep)) == 6
    assert run.one(Ended).how == "cut"
    assert "unreachable" not in run.output
    assert run.exits == (0,)

"""Process groups are told apart on every rank, whoever makes them and how often."""

import pytest
from child_run import child

from ddpdoctor.events import Collective, Raised

pytest.importorskip("torch")


def test_groups_that_one_call_makes_for_other_ranks_are_told_apart(tmp_path):
    script = """
import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
for n in range(2):
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting{n}", rank=rank, world_size=2)
    groups = [dist.new_group(ranks) for ranks in ([0], [1], [0, 1])]
    for group in (groups[rank], groups[2], groups[2]):
        dist.all_reduce(torch.ones(1), group=group)
    if rank == 1:
        own = dist.new_group([1], use_local_synchronization=True)
        dist.all_reduce(torch.ones(1), group=own)
    dist.barrier()
    dist.destroy_process_group()
"""
    run = child(tmp_path, script, style="torchrun", ranks=2)
    assert not run.of(Raised), run.output
    first, second = (run.of(Collective, rank=rank) for rank in (0, 1))
    reduced = [[event for event in events if event.group is not None] for events in (first, second)]
    assert [(event.group.n, event.group.ranks, event.sequence) for event in reduced[0]] == [
        *((0, (0,), 0), (2, (0, 1), 0), (2, (0, 1), 1)),
        *((3, (0,), 0), (5, (0, 1), 0), (5, (0, 1), 1)),
    ]
    assert [(event.group.n, event.group.ranks, event.sequence) for event in reduced[1]] == [
        *((1, (1,), 0), (2, (0, 1), 0), (2, (0, 1), 1), (0, (1,), 0)),
        *((4, (1,), 0), (5, (0, 1), 0), (5, (0, 1), 1), (1, (1,), 0)),
    ]
    names = [[event.group.name for event in events[:3]] for events in reduced]
    assert names[0][1:] == names[1][1:], "the ranks' one group has one name"
    assert names[0][0] != names[1][0]
    assert [event.sequence for event in first if event.group is None] == [0, 1] * 2, "the meeting, the barrier"


def test_the_groups_of_a_device_mesh_are_watched(tmp_path):
    script = """
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replica", "shard"))
for name in ("shard", "replica"):
    dist.all_reduce(torch.ones(1), group=mesh.get_group(name))
dist.destroy_process_group()
"""
    run = child(tmp_path, script, style="torchrun", ranks=2)
    assert not run.of(Raised), run.output
    for rank in (0, 1):
        reduced = run.of(Collective, rank=rank, op="all_reduce")
        assert [event.place.line for event in reduced] == [7, 7]
        assert reduced[0].group.ranks == (rank,)
        whole = reduced[1].group  # a dimension of all ranks has the default group in newer torch
        assert whole is None or whole.ranks == (0, 1)


def test_a_device_mesh_of_gpus_is_made_over_gloo(tmp_path):
    script = """
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
torch.cuda.set_device(int(os.environ["RANK"]))
mesh = init_device_mesh("cuda", (2, 1), mesh_dim_names=("replica", "shard"))
dist.all_reduce(torch.ones(1, device="cuda"), group=mesh["shard"].get_group())
dist.destroy_process_group()
"""
    run = child(tmp_path, script, style="torchrun", ranks=2)
    assert not run.of(Raised), run.output
    assert run.exits == (0, 0)
    assert {event.group.ranks for event in run.of(Collective, op="all_reduce") if event.group} == {(0,), (1,)}

"""Functions that a scheduler's job or torch's own launcher runs as the ranks."""

import pytest
from reading import read

from ddpdoctor.events import MAIN, EnvSet, GroupInit, ModelWrapped, ProcessStarted
from ddpdoctor.value import Constant

TRAINING = """
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def train(args):
    dist.init_process_group("nccl", rank=args.rank, world_size=args.world_size)
    DDP(nn.Linear(2, 2))
"""


def test_a_job_of_submitit_runs_the_object_it_is_given_as_the_ranks(tmp_path):
    (tmp_path / "training.py").write_text(TRAINING)
    trace = read(
        tmp_path,
        """
        import argparse
        import submitit

        class Task:
            def __init__(self, args):
                self.args = args

            def __call__(self):
                import training
                here = submitit.JobEnvironment()
                self.args.rank, self.args.world_size = here.global_rank, here.num_tasks
                training.train(self.args)

        args = argparse.ArgumentParser().parse_args()
        executor = submitit.AutoExecutor(folder="jobs")
        executor.update_parameters(tasks_per_node=8, nodes=2)
        executor.submit(Task(args))
        """,
    )
    (init,) = trace.of(GroupInit)
    assert init.process != MAIN
    assert "rank" in init.group_rank.taint
    assert [wrap.process for wrap in trace.of(ModelWrapped)] == [init.process]
    assert not list(trace.of(ProcessStarted))


@pytest.mark.parametrize("call", ["executor.submit(train, 3)", "executor.map_array(train, [3, 4])"])
def test_a_jobs_function_gets_its_arguments(call, tmp_path):
    trace = read(
        tmp_path,
        f"""
        import submitit
        import torch.distributed as dist

        def train(nodes):
            task = submitit.helpers.TorchDistributedEnvironment().export()
            dist.init_process_group("nccl", world_size=nodes)

        executor = submitit.SlurmExecutor("jobs")
        {call}
        """,
    )
    (init,) = trace.of(GroupInit)
    assert isinstance(init.world_size, Constant)
    assert init.world_size.value == 3
    assert {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= {event.name for event in trace.of(EnvSet)}


def test_torchs_launcher_starts_as_many_as_its_configuration_says_and_waits(tmp_path):
    trace = read(
        tmp_path,
        """
        import torch.distributed as dist
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch

        def train(lr):
            dist.init_process_group("gloo")

        elastic_launch(LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=4), train)(0.1)
        """,
    )
    (started,) = trace.of(ProcessStarted)
    (init,) = trace.of(GroupInit)
    assert started.child == init.process
    assert isinstance(started.count, Constant)
    assert started.count.value == 4
    assert isinstance(started.join, Constant)
    assert started.join.value is True

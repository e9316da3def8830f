"""The pipeline as a whole: what breaks takes nothing along, and the source and a run say one thing of one fault."""

from pathlib import Path

import pytest

from ddpdoctor import engine, reader, registry
from ddpdoctor.checkup import Project, Report, Request, Voice
from ddpdoctor.finding import Severity, State
from ddpdoctor.reader import walk

SHUFFLES = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
loader = DataLoader(range(8), sampler=DistributedSampler(range(8)), shuffle=True)
"""

SMALL_BATCHES = """\
import multiprocessing as mp

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def log():
    pass


def main():
    dist.init_process_group("gloo")
    model = DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))  # the wrap
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                ((model(x) - y) ** 2).mean().backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    logger = mp.Process(target=log)
    logger.start()
    main()
    logger.join()
"""

TWO_MODELS = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
try:
    generator = DDP(nn.Linear(6, 4))
    judging = nn.Linear(4, 3)
    discriminator = DDP(judging)  # the wrap
    for parameter in judging.parameters():
        if parameter.dim() == 2:
            parameter.grad = torch.zeros(4, 3).t()
    for step in range(3):
        generator(torch.randn(2, 6)).sum().backward()
        discriminator(torch.randn(2, 4)).sum().backward()
finally:
    dist.destroy_process_group()
"""


NO_RANKS = """\
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = DDP(nn.Linear(4, 4))
    model(torch.randn(2, 4)).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    assert "MY_CLUSTER" in os.environ, "export MY_CLUSTER first"
    mp.spawn(train, args=(2,), nprocs=2)
"""


@pytest.fixture
def check(tmp_path: Path):
    """Check scripts that are given by their names and texts."""

    def checked(texts: dict[str, str], **how: bool) -> Report:
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        project = Project(root=str(tmp_path), paths=tuple(str(tmp_path / name) for name in texts))
        return engine.check(Request(projects=(project,), directory=str(tmp_path), **how), Voice())

    return checked


def line_of(text: str, marker: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith(marker))


def test_a_file_that_breaks_the_reader_does_not_take_the_others_along(check, monkeypatch):
    read = reader.read

    def breaks_on_one(file: str, *rest: object, **named: object):
        if file.endswith("odd.py"):
            raise IndexError("list index out of range")
        return read(file, *rest, **named)

    monkeypatch.setattr(reader, "read", breaks_on_one)
    report = check({"odd.py": "", "train.py": SHUFFLES}, source_only=True)
    odd, train = report.targets
    assert odd.layers["source"].state == "failed"
    assert odd.layers["source"].reason.startswith("a fault of ddpdoctor's own: odd.py: IndexError: list index out")
    assert train.layers["source"].state == "checked"
    assert "shuffle-with-sampler" in {finding.check for finding in report.findings}
    assert [fault.text.partition(" (")[0] for fault in report.faults] == ["odd.py: IndexError: list index out of range"]


def test_a_check_that_breaks_does_not_take_the_others_along(check, monkeypatch):
    load = registry.load

    def breaks(trace: object):
        raise KeyError("sampler")
        yield

    def one_is_broken(name: str):
        return load(name).with_(predict=breaks) if name == "process-group-not-destroyed" else load(name)

    monkeypatch.setattr(registry, "load", one_is_broken)
    report = check({"train.py": SHUFFLES}, source_only=True)
    assert "shuffle-with-sampler" in {finding.check for finding in report.findings}
    assert [fault.text.partition(" (")[0] for fault in report.faults] == [
        "the check process-group-not-destroyed: KeyError: 'sampler'"
    ]


def test_a_run_does_not_make_less_of_a_fault_and_a_helper_process_is_no_rank(check):
    pytest.importorskip("torch")
    report = check({"train.py": SMALL_BATCHES}, probe=True)
    assert report.targets[0].layers["model"].state == "checked"
    (finding,) = [finding for finding in report.findings if finding.check == "unconverted-batchnorm"]
    assert finding.severity is Severity.WARNING
    assert finding.verdict.state is State.CONFIRMED
    assert "8 samples a rank and step" in finding.fault.message


def test_a_run_that_never_came_to_start_ranks_shows_nothing_of_models(check):
    pytest.importorskip("torch")
    report = check({"train.py": NO_RANKS}, probe=True)
    assert report.faults == ()
    assert "export MY_CLUSTER first" in report.targets[0].layers["probe"].reason


def test_each_model_is_judged_by_its_own_gradients(check):
    pytest.importorskip("torch")
    report = check({"train.py": TWO_MODELS}, probe=True)
    (finding,) = report.findings
    assert (finding.check, finding.fault.place.line) == ("grad-stride-mismatch", line_of(TWO_MODELS, "# the wrap"))
    assert finding.verdict.state is State.CONFIRMED
    assert list(finding.verdict.evidence["strides"]) == ["weight"]


def test_a_program_that_is_read_in_part_is_said_to_be(check, monkeypatch):
    started = walk.Walk.__init__
    monkeypatch.setattr(walk.Walk, "__init__", lambda self, *given, **_: started(self, *given, steps=0))
    report = check({"train.py": SMALL_BATCHES}, source_only=True)
    layer = report.targets[0].layers["source"]
    assert layer.state == "checked"
    assert layer.details == (f"read in part: it takes longer than is given to one program: {engine.ENDED}",)


def test_a_program_that_is_read_whole_has_no_such_line(check):
    assert check({"train.py": SMALL_BATCHES}, source_only=True).targets[0].layers["source"].details == ()

"""What findings of the source say of names and numbers that the source leaves open."""

import pytest
from reading import read

from ddpdoctor import registry
from ddpdoctor.events import FileUsed

SAVING = """
import argparse, copy, pathlib
options = argparse.ArgumentParser()
options.add_argument("--out", default="runs")
args = options.parse_args()
cfg = copy.deepcopy(args)
dist.init_process_group("nccl")
model = DDP(nn.Linear(1, 1))
for epoch in range(3):
    torch.save(model.state_dict(), {path})
"""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ('"last.pt"', "'last.pt'"),
        ('pathlib.Path("out") / "last.pt"', "'out/last.pt'"),
        ('f"{args.out}/last.pt"', 'f"{args.out}/last.pt"'),
        ('f"{epoch}.pt"', 'f"{…}.pt"'),
        ('f"{cfg.out}/{epoch}.pt"', 'f"{args.out}/{…}.pt"'),
        ("some_name(epoch)", "one file"),
    ],
)
def test_a_file_is_named_without_what_only_the_reader_knows(tmp_path, path, said):
    program = read(tmp_path, SAVING.replace("{path}", path).replace("some_name", "torch.some.name"))
    (fault,) = registry.load("save-on-every-rank").predict(program)
    assert fault.message.startswith(f"every rank writes {said} at the same time"), program.of(FileUsed)[0].path.text()


BATCHES = """
import argparse
options = argparse.ArgumentParser()
options.add_argument("--batch", type=int, default={default})
args = options.parse_args()
dist.init_process_group("nccl")
sampler = DistributedSampler([1, 2])
loader = DataLoader([1, 2], batch_size={size}, sampler=sampler)
model = DDP(nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1)))
for x in loader:
    model(x).sum().backward()
"""


@pytest.mark.parametrize(
    ("default", "size", "severity", "said"),
    [
        (8, "args.batch", "warning", " (8 samples a rank and step by default)"),
        (64, "args.batch", None, " (64 samples a rank and step by default)"),
        (64, "8", "warning", " (8 samples a rank and step)"),
        (None, "args.batch", None, ""),
    ],
)
def test_an_option_for_the_batch_size_counts_as_its_default(tmp_path, default, size, severity, said):
    program = read(tmp_path, BATCHES.format(default=default, size=size))
    (fault,) = registry.load("unconverted-batchnorm").predict(program)
    assert (fault.severity.value if fault.severity else None) == severity
    assert fault.message == f"BatchNorm is not converted: each rank normalises by its own batch{said}"

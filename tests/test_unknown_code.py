"""What a call that is not followed does to a loader or its sampler is not known, and nothing is concluded then."""

from pathlib import Path

import pytest
from reading import read

from ddpdoctor import registry

TRAINING = """
import somelib
from tqdm import tqdm

class Own(DistributedSampler):
    pass

dist.init_process_group("nccl")
model = DDP(nn.Linear(2, 2))
sampler = {sampler}
loader = DataLoader([1, 2], sampler=sampler)
{before}
for epoch in range(epochs):
    {inside}
    for x in loader:
        model(x).sum().backward()
{after}
"""


def found(check: str, folder: Path, sampler: str, before: str = "", inside: str = "pass", after: str = "") -> int:
    program = read(folder, TRAINING.format(sampler=sampler, before=before, inside=inside, after=after))
    return len(list(registry.load(check).predict(program)))


CASES = [
    ("missing-set-epoch", "DistributedSampler([1, 2])"),
    ("unsharded-loader", "None"),
]


@pytest.mark.parametrize(("check", "sampler"), CASES)
@pytest.mark.parametrize(
    "where",
    [
        {"before": "somelib.take(loader)"},
        {"before": "somelib.take([loader])"},
        {"before": "somelib.take(loader if epochs else None)"},
        {"before": "loader = somelib.take(loader)"},
        {"inside": "somelib.take(epoch, loader=loader)"},
        {"inside": "somelib.hooks['epoch'](loader)"},
    ],
    ids=str,
)
def test_a_loader_in_unknown_hands_is_not_judged(check, sampler, where, tmp_path):
    assert found(check, tmp_path, sampler, **where) == 0


@pytest.mark.parametrize(("check", "sampler"), CASES)
@pytest.mark.parametrize(
    "where",
    [
        {},
        {"before": "print(loader)"},
        {"before": "somelib.take(model)"},
        {"before": "other = DataLoader([3]); somelib.take(other)"},
        {"before": "loader = tqdm(loader)"},
        {"after": "somelib.take(loader)"},
    ],
    ids=str,
)
def test_a_loader_is_judged_that_only_known_code_gets(check, sampler, where, tmp_path):
    assert found(check, tmp_path, sampler, **where) == 1


@pytest.mark.parametrize("given", ["sampler", "loader.sampler", "loader.batch_sampler.sampler"])
def test_a_sampler_in_unknown_hands_may_be_told_the_epoch(given, tmp_path):
    inside = f"somelib.tell({given}, epoch)"
    assert found("missing-set-epoch", tmp_path, "DistributedSampler([1, 2])", inside=inside) == 0


def test_a_sampler_of_the_projects_own_class_is_one_too(tmp_path):
    assert found("missing-set-epoch", tmp_path, "Own([1, 2])") == 1
    assert found("missing-set-epoch", tmp_path, "Own([1, 2])", inside="somelib.tell(sampler, epoch)") == 0

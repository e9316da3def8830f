"""Two ranks train: their process group, collectives, wrapped models, gradients and end are written down."""

import pytest
from child_run import child, line

from ddpdoctor.events import (
    MEETING,
    Backward,
    Collective,
    Cut,
    Ended,
    EnvSet,
    EpochBegun,
    EpochEnded,
    EpochSet,
    Forward,
    GradientsSeen,
    GroupDestroyed,
    GroupInit,
    ModelWrapped,
    OptimizerStep,
    Raised,
    Substituted,
    SyncBatchNormConverted,
    Trial,
)

pytest.importorskip("torch")

SCRIPT = """
import os, sys
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

os.environ["MASTER_ADDR"] = "10.11.12.13"                                 # address
os.environ.setdefault("MASTER_PORT", "29400")
os.environ.update(NCCL_DEBUG="WARN")
os.environ["UNRELATED"] = "1"
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))     # init
assert dist.get_backend() == "nccl" and dist.is_nccl_available()
assert os.environ["MASTER_ADDR"] == "10.11.12.13"

total = torch.tensor([float(rank)]).cuda()
dist.all_reduce(total)                                                    # sum
assert total.item() == 1
dist.all_reduce(total, op=dist.ReduceOp.AVG)
assert total.item() == 1
work = dist.all_reduce(total, op=dist.ReduceOp.AVG, async_op=True)
work.wait()
assert total.item() == 1
names = [None, None]
dist.all_gather_object(names, {"rank": rank})                             # objects
assert [name["rank"] for name in names] == [0, 1]
gathered = torch.empty(2, device="cuda")
dist.all_gather_into_tensor(gathered, torch.full((1,), float(rank)))
assert gathered.tolist() == [0, 1]
group = dist.new_group([0, 1], backend="nccl")                            # group
dist.broadcast(total, 0, group=group)                                     # in the group
dist.barrier(device_ids=[rank])                                           # barrier

# SyncBatchNorm on the ranks' halves of a batch is BatchNorm on the whole, forward, backward and running statistics.
torch.manual_seed(0)
whole = torch.randn(5, 4, 6, 6).to(memory_format=torch.channels_last)
halves = (whole[:3], whole[3:])
plain, half = nn.BatchNorm2d(4), halves[rank].clone().requires_grad_()
nn.init.normal_(plain.weight)
synced = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(plain)).cuda()   # converts
assert isinstance(synced[0], nn.SyncBatchNorm)
reference = nn.BatchNorm2d(4)
reference.load_state_dict(synced[0].state_dict())
whole.requires_grad_()
expected, output = reference(whole), synced(half)
shares = (expected[:3], expected[3:])
assert torch.allclose(output, shares[rank], atol=1e-5)
assert output.is_contiguous(memory_format=torch.channels_last)
weights = torch.randn(5, 4, 6, 6)
(expected * weights).sum().backward()
(output * (weights[:3], weights[3:])[rank]).sum().backward()
assert torch.allclose(half.grad, (whole.grad[:3], whole.grad[3:])[rank], atol=1e-5)
for parameter, other in zip(synced[0].parameters(), reference.parameters()):
    summed = parameter.grad.clone()
    dist.all_reduce(summed)
    assert torch.allclose(summed, other.grad, atol=1e-4)
for buffer, other in zip(synced[0].buffers(), reference.buffers()):
    assert torch.allclose(buffer.float(), other.float(), atol=1e-6), (buffer, other)
synced.eval()
assert torch.allclose(synced(half), reference.eval()(half), atol=1e-5)
nn.SyncBatchNorm.convert_sync_batchnorm(reference)                        # converts in vain


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.frozen = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)

    def features(self, x):
        return self.frozen(self.norm(self.conv(x))).mean((2, 3))

    def forward(self, x):
        return self.head(self.features(x))


data = TensorDataset(torch.randn(80, 2, 8, 8), torch.randint(3, (80,)))
sampler = DistributedSampler(data)                                        # sampler
loader = DataLoader(data, batch_size=10, sampler=sampler, num_workers=2)  # loader
net = Net().cuda()
model = DistributedDataParallel(net, device_ids=[rank])                   # wraps
net.frozen.eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
last = 0
for epoch in range(90):
    sampler.set_epoch(epoch)
    for index, (images, labels) in enumerate(loader):                     # reads
        last = max(last, index)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)         # forward
        loss.backward()                                                   # backward
        optimizer.step()                                                  # step
    if epoch == 0:
        with torch.no_grad():
            model.module(images)                                          # around
assert epoch == 1, epoch

with model.no_sync():
    model(images).sum().backward()                                        # unsynced
model.module.features(images).sum().backward()                            # bypassed
model.zero_grad()
dist.destroy_process_group()                                              # destroys
print("the end", rank, flush=True)
"""


def at(marker):
    """The line of the script that ends with a marker."""
    return next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f"# {marker}"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return child(tmp_path_factory.mktemp("training"), SCRIPT, style="torchrun", ranks=2)


def on(run, rank, kind, marker=None):
    """One rank's events of a kind, on a marked line."""
    return [event for event in run.of(kind, rank=rank) if marker is None or line(event) == at(marker)]


def test_both_ranks_come_to_their_end(run):
    assert not run.of(Raised), run.output
    assert run.ends() == {0: "natural", 1: "natural"}
    assert "the end 0" in run.output
    assert "the end 1" in run.output
    assert {status.rank: (status.done, status.inside) for status in run.statuses} == {0: (True, None), 1: (True, None)}


def test_the_environment_that_the_script_writes(run):
    written = [(event.name, event.value.value, event.fallback) for event in run.of(EnvSet, rank=0)]
    assert written == [
        ("MASTER_ADDR", "10.11.12.13", False),
        ("MASTER_PORT", "29400", True),
        ("NCCL_DEBUG", "WARN", False),
    ]
    assert on(run, 0, EnvSet, "address")


@pytest.mark.parametrize("rank", [0, 1])
def test_the_process_group(run, rank):
    (begun,) = on(run, rank, GroupInit)
    assert (line(begun), begun.backend.value, begun.device.value) == (at("init"), "nccl", rank)
    (ended,) = on(run, rank, GroupDestroyed)
    assert line(ended) == at("destroys")
    assert not run.of(Substituted, rank=rank, by="gloo")  # that NCCL is redirected goes without saying
    assert run.of(Substituted, rank=rank, what="the address 10.11.12.13")


@pytest.mark.parametrize("rank", [0, 1])
def test_the_users_collectives(run, rank):
    (summed,) = on(run, rank, Collective, "sum")
    assert (summed.op, summed.origin, summed.shapes, summed.dtype, summed.group) == (
        "all_reduce",
        "user",
        ((1,),),
        "float32",
        None,
    )
    assert [event.op for event in run.of(Collective, rank=rank)][: summed.sequence] == [MEETING]
    assert {event.op for event in on(run, rank, Collective, "objects")} == {"all_gather_object"}
    (met,) = on(run, rank, Collective, "barrier")
    assert (met.op, met.shapes) == ("barrier", ())
    (sent,) = on(run, rank, Collective, "in the group")
    assert (sent.op, sent.sequence, sent.group.place.line) == ("broadcast", 0, at("group"))


def test_the_ranks_issue_the_same_collectives(run):
    first, second = (
        [(event.op, event.origin, event.sequence, event.shapes, line(event)) for event in run.of(Collective, rank=rank)]
        for rank in (0, 1)
    )
    assert first == second
    assert {origin for _, origin, *_ in first} == {"user", "wrap", "buffers", "reducer", "sync-batchnorm"}


@pytest.mark.parametrize(
    ("marker", "origin"), [("wraps", "wrap"), ("forward", "buffers"), ("forward", "reducer"), ("backward", "reducer")]
)
def test_ddps_own_collectives_stand_at_the_users_line(run, marker, origin):
    assert [event for event in on(run, 0, Collective, marker) if event.origin == origin]


def test_the_conversions_to_sync_batchnorm(run):
    kept, dropped = run.of(SyncBatchNormConverted, rank=0)
    assert (line(kept), kept.kept, kept.root, kept.wrapped) == (at("converts"), True, False, False)
    assert (line(dropped), dropped.kept, dropped.root, dropped.wrapped) == (at("converts in vain"), False, True, False)


def test_the_wrapped_model_and_its_batchnorms(run):
    (wrapped,) = on(run, 0, ModelWrapped)
    assert line(wrapped) == at("wraps")
    assert wrapped.how == "torch.nn.parallel.DistributedDataParallel"
    assert wrapped.model.place.line == at("wraps") - 1
    assert wrapped.parameters == 8
    assert wrapped.options["device_ids"].value == (0,)
    norm, frozen = wrapped.norms
    assert (norm.name, norm.type, norm.trained) == ("norm", "torch.nn.BatchNorm2d", True)
    assert norm.values == 10 * 6 * 6, "of the script's own batch size, not of the few samples that were loaded"
    assert (frozen.name, frozen.trained, frozen.values) == ("frozen", False, None)


@pytest.mark.parametrize("rank", [0, 1])
def test_two_epochs_of_three_steps(run, rank):
    begun, ended = on(run, rank, EpochBegun), on(run, rank, EpochEnded)
    assert [(line(event), event.number, event.length) for event in begun] == [(at("reads"), 1, 4), (at("reads"), 2, 4)]
    assert [(event.number, event.steps, event.cut) for event in ended] == [(1, 3, True), (2, 3, True)]
    assert {event.loader.place.line for event in begun} == {at("loader")}
    assert [event.value.value for event in on(run, rank, EpochSet)] == [0, 1]
    assert [event.number for event in on(run, rank, OptimizerStep)] == [1, 2, 3, 4, 5, 6]
    assert on(run, rank, Cut)


def test_the_epochs_split_the_data_between_the_ranks(run):
    folders = {event.rank: event for event in run.of(EpochBegun, number=1)}
    assert sorted([*folders[0].indices, *folders[1].indices]) == list(range(80))


@pytest.mark.parametrize("rank", [0, 1])
def test_the_forwards(run, rank):
    assert {(event.via, event.grad, event.training) for event in on(run, rank, Forward, "forward")} == {
        ("wrapper", True, True)
    }
    (around,) = on(run, rank, Forward, "around")
    assert (around.via, around.grad) == ("module", False)
    assert around.model == on(run, rank, ModelWrapped)[0].wrapper


@pytest.mark.parametrize("rank", [0, 1])
def test_the_backwards(run, rank):
    assert {(event.reduced, event.bypassed) for event in on(run, rank, Backward, "backward")} == {(True, ())}
    (unsynced,) = on(run, rank, Backward, "unsynced")
    assert (unsynced.reduced, unsynced.bypassed) == (False, ())
    (bypassed,) = on(run, rank, Backward, "bypassed")
    assert bypassed.reduced is False
    assert [ref.place.line for ref in bypassed.bypassed] == [at("wraps")]


def test_the_gradients_are_the_same_on_both_ranks(run):
    first, second = (run.of(GradientsSeen, rank=rank) for rank in (0, 1))
    assert [seen.step for seen in first] == [1, 2, 3, 4, 5, 6]
    assert [seen.digest for seen in first] == [seen.digest for seen in second]
    assert len({seen.digest for seen in first}) == 6
    assert {row.name for row in first[0].parameters} == {
        "conv.weight",
        "conv.bias",
        "norm.weight",
        "norm.bias",
        "frozen.weight",
        "frozen.bias",
        "head.weight",
        "head.bias",
    }


def test_the_exception_that_is_tried_out_reaches_no_destroy(run):
    (trial,) = run.of(Trial)
    assert (trial.rank, line(trial), trial.destroyed, trial.finished) == (0, at("step"), False, True)


def test_the_ends_say_where_they_are_from(run):
    assert {(event.how, event.status, event.alive) for event in run.of(Ended)} == {("natural", 0, 0)}

"""What the reader makes of numbers that come from batches: whose they are when they are printed, logged or compared."""

import pytest
from reading import only, read

from ddpdoctor.events import Collective, FileUsed, LoaderBuilt, Reported, SamplerBuilt
from ddpdoctor.facts.evaluation import decided_by

SETUP = """
dist.init_process_group('nccl')
loader = DataLoader(data, sampler=DistributedSampler(data))
total, seen = 0.0, []
with torch.no_grad():
    for x, y in loader:
        total += model(x).sub(y).abs().sum().item()
        seen.append((model(x) == y).float().mean())
"""


def reported(folder, text, head=None):
    """The one report of a program: of which loaders' batches a rank's own numbers, and added-up ones, are in it."""
    program = read(folder, SETUP + text)
    loader = only(program.of(LoaderBuilt)).loader
    found = [event for event in program.of(Reported) if event.loaders or event.added]
    return [(loader in event.loaders, loader in event.added) for event in found]


@pytest.mark.parametrize(
    "use",
    [
        "print(total / len(loader))",
        "print(f'{total:.3f}')",
        "print('%.3f' % total)",
        "print('{0:.3f}'.format(total))",
        "print('{m[total]}'.format(m={'total': total}))",
        "import logging; logging.getLogger().info('loss %f', total)",
        "import wandb; wandb.log({'loss': round(total, 3)})",
        "from torch.utils.tensorboard import SummaryWriter; SummaryWriter().add_scalar('loss', total, 1)",
        "import numpy as np; print(np.mean([x.item() for x in seen]))",
        "print(torch.stack(seen).mean().item())",
        "from collections import defaultdict; d = defaultdict(list); d['a'].append(total); print(sum(d['a']))",
        "errors = torch.zeros(2); errors[0] += total; print(errors)",
        "errors = torch.zeros(2); errors.add_(total); print(errors)",
        "class M:\n    def __str__(self): return f'{total}'\nprint(M())",
        "print(seen[0] > 0.5)",
    ],
)
def test_what_a_rank_computed_from_its_batches_is_its_own_wherever_it_comes_out(tmp_path, use):
    assert reported(tmp_path, use) == [(True, False)]


@pytest.mark.parametrize(
    ("use", "added"),
    [
        ("t = torch.tensor([total]); dist.all_reduce(t); print(t.item())", True),
        ("t = torch.tensor([total]).cuda(); dist.reduce(t, dst=0); print(t[0])", True),
        ("t = torch.zeros(2); t[0] = total; dist.all_reduce(tensor=t); print((t[0] / t[1]).tolist())", True),
        ("t = torch.stack(seen).mean(); dist.all_reduce(t.data); print(t)", True),
        ("parts = [torch.zeros(1) for _ in range(8)]; dist.all_gather(parts, seen[0]); print(torch.cat(parts))", False),
        ("parts = [None] * 8; dist.all_gather_object(parts, total); print(parts)", False),
        ("parts = [None] * 8; dist.gather_object(total, parts); print(parts)", False),
        ("import elsewhere; print(elsewhere.averaged(total))", False),
        ("import elsewhere; meter = elsewhere.Meter(); meter.update(total); print(meter.average())", False),
    ],
)
def test_what_is_put_together_or_may_have_been_is_no_longer_a_ranks_own(tmp_path, use, added):
    assert reported(tmp_path, use) == ([(False, True)] if added else [])


def test_a_reduction_on_one_path_only_leaves_nothing_to_be_said_of_the_other(tmp_path):
    text = """
    def reduced(value):
        if not dist.is_initialized():
            return value
        t = torch.tensor([value]); dist.all_reduce(t); return t.item()
    print(reduced(total))
    """
    program = read(tmp_path, SETUP + __import__("textwrap").dedent(text))
    assert [event.loaders for event in program.of(Reported)] == [()]


def test_a_format_takes_only_what_it_names(tmp_path):
    text = "class M: pass\nm = M(); m.own, m.name = total, 'loss'\nprint('{name}'.format(**m.__dict__))"
    assert reported(tmp_path, text) == []
    assert reported(tmp_path, text.replace("{name}", "{own:.3f}")) == [(True, False)]


LIGHTNING = """
import lightning as L, torchmetrics
class M(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.f1 = nn.Linear(1, 1), torchmetrics.F1Score()
    def forward(self, x): return self.net(x)
    def training_step(self, batch, i): self.log('loss', self(batch).mean())
    def validation_step(self, batch, i):
        {log}
L.Trainer(devices={devices}).fit(M(), loader)
"""


@pytest.mark.parametrize(
    ("log", "devices", "own"),
    [
        ("self.log('a', self(batch).mean())", 2, True),
        ("self.log_dict({'a': self(batch).mean()})", 2, True),
        ("self.log('a', self(batch).mean(), sync_dist=True)", 2, False),
        ("self.log('a', self(batch).mean(), on_step=True, on_epoch=False)", 2, False),
        ("self.log('a', self.all_gather(self(batch)).mean())", 2, False),
        ("self.f1(self(batch), batch); self.log('a', self.f1)", 2, False),
        ("self.log('a', self(batch).mean())", 1, False),
    ],
)
def test_lightning_averages_over_the_ranks_when_it_is_told_to(tmp_path, log, devices, own):
    program = read(tmp_path, LIGHTNING.format(log=log, devices=devices))
    assert [event.how for event in program.of(Reported)] == (["epoch"] if own else [])


def test_a_plateau_scheduler_is_told_a_ranks_own_number(tmp_path):
    text = "s = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD(model.parameters(), 0.1)); s.step(total)"
    program = read(tmp_path, SETUP + text)
    assert [event.how for event in program.of(Reported)] == ["schedule"]


def test_a_collective_says_from_whose_batches_its_numbers_are(tmp_path):
    program = read(tmp_path, SETUP + "t = torch.tensor([total]); dist.all_reduce(t); dist.barrier()")
    loader = only(program.of(LoaderBuilt)).loader
    assert [(event.op, event.loaders) for event in program.of(Collective)] == [
        ("all_reduce", (loader,)),
        ("barrier", ()),
    ]


def test_a_test_on_a_ranks_own_number_is_known_by_its_loader(tmp_path):
    text = "best = 0\nif total > best:\n    torch.save(model.state_dict(), 'best.pt')\n"
    program = read(tmp_path, SETUP + text)
    assert decided_by(only(program.of(FileUsed))) == {only(program.of(LoaderBuilt)).loader}
    text = "t = torch.tensor([total]); dist.all_reduce(t); total = t.item(); best = 0\n" + text.partition("\n")[2]
    assert decided_by(only(read(tmp_path, SETUP + text).of(FileUsed))) == frozenset()


def test_a_sampler_says_whether_it_drops_the_rest(tmp_path):
    program = read(tmp_path, "s = DistributedSampler(data, drop_last=True)")
    assert only(program.of(SamplerBuilt)).drop_last is not None

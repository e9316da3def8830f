"""What the reader passes over in a model's forward, and what it must not: whatever a check may ask about is found."""

import ast

import pytest
from reading import read

from ddpdoctor.events import Backward, Collective, Forward
from ddpdoctor.reader.spoken import words_of

COUNT = "def total(x):\n    dist.all_reduce(x)\n    return x\n"


def of(text):
    (function,) = ast.parse(text).body
    return words_of(function)


@pytest.mark.parametrize(
    "text",
    [
        "def f(self, x):\n    return self.norm(x).view(2, -1).softmax(dim=1)\n",
        "def f(x, y):\n    pieces = [x]\n    pieces.append(x.reshape(-1))\n    pieces[0] = y\n    return cat(pieces)\n",
        "def f(self, x):\n    if self.training and len(x) > 1:\n        x = x.t()\n    return x.to(self.weight)\n",
    ],
)
def test_what_only_computes_is_quiet(text):
    assert not of(text).loud


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    torch.distributed.all_reduce(x)\n",
        "def f(x):\n    return x * get_rank()\n",
        "def f(self, x):\n    self.seen = x\n",
        "def f(self, x):\n    self.queue[:, 0] = x\n",
        "def f(x):\n    global count\n    count = x\n",
        "def f(net, x):\n    return net.module(x)\n",
        "def f(x):\n    print(x.mean())\n",
        "def f(x):\n    return checkpoint(layer, x)\n",
        "def f(x):\n    return x.cuda()\n",
        "def f(x):\n    return [all_gather(one) for one in x]\n",
    ],
)
def test_what_a_check_may_ask_about_is_loud(text):
    assert of(text).loud or of(text).called


def test_a_body_says_by_which_names_it_comes_to_others():
    words = of("def f(self, x):\n    return self.mix(ops.shift(x), self.layers[0].scale)\n")
    assert words.own == {"mix", "layers"}
    assert words.taken == {"shift", "scale"}
    assert words.names == {"self", "x", "ops"}


@pytest.mark.parametrize(
    ("setup", "forward"),
    [
        ("", "return total(x)"),
        ("", "return indirect(x)"),
        ("self.reduce = total", "return self.reduce(x)"),
        ("self.reduce = functools.partial(total)", "return self.reduce(x)"),
        (
            "self.layers = nn.ModuleList([nn.Linear(4, 4), Summed()])",
            "for layer in self.layers:\n            x = layer(x)",
        ),
        ("self.layers = nn.Sequential(nn.Linear(4, 4), Summed())", "return self.layers(x)"),
        ("self.plan = {'last': Summed()}", "return self.plan['last'](x)"),
        ("", "return Gather.apply(x)"),
        ("", "return self.helper(x)"),
        ("", "return sums.total_of(x)"),
        ("", "return Counted(x).summed()"),
        ("", "return mapped(total, x)"),
    ],
)
def test_a_collective_that_a_forward_comes_to_is_found(tmp_path, setup, forward):
    program = read(
        tmp_path,
        f"""
import functools
import sums

{COUNT}
def indirect(x):
    return total(x.view(-1))

def mapped(function, x):
    return function(x)

class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return total(x)

class Counted:
    def __init__(self, x):
        self.x = x

    def summed(self):
        return total(self.x)

class Summed(nn.Module):
    def forward(self, x):
        return total(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        {setup or "pass"}

    def helper(self, x):
        return total(self.body(x))

    def forward(self, x):
        x = self.body(x)
        {forward}

dist.init_process_group("gloo")
model = DDP(Net())
model(torch.randn(2, 4))
""",
        sums=f"import torch.distributed as dist\n\n{COUNT.replace('total', 'total_of')}",
    )
    assert [event.op for event in program.of(Collective)] == ["all_reduce"]


def test_a_model_is_no_longer_silent_once_it_is_wrapped(tmp_path):
    program = read(
        tmp_path,
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)

class Loss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x).sum()

net = Net()
loss = Loss(net)
loss(torch.randn(2, 4))
model = DDP(net)
loss(torch.randn(2, 4))
""",
    )
    assert [(event.via, bool(event.wrappers)) for event in program.of(Forward)] == [
        ("model", False),
        ("model", False),
        ("module", True),
    ]


def test_what_a_model_is_given_later_is_heard(tmp_path):
    program = read(
        tmp_path,
        f"""
{COUNT}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.after = nn.Identity()

    def forward(self, x):
        return self.after(x)

net = Net()
net(torch.randn(2, 4))
net.after = total
net(torch.randn(2, 4))
""",
    )
    assert [event.op for event in program.of(Collective)] == ["all_reduce"]


def test_a_loss_from_either_of_two_models_goes_back_through_both(tmp_path):
    program = read(
        tmp_path,
        """
import argparse

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x, labels=None):
        h = self.body(x)
        return h, h.mean()

parser = argparse.ArgumentParser()
parser.add_argument("--distributed", action="store_true")
args = parser.parse_args()
model = Net()
if args.distributed:
    model = DDP(model)
logits, loss = model(torch.randn(2, 4), labels=1)
(loss / 2).backward()
""",
    )
    wrapper, bare = program.of(Forward)
    assert [event.forwards for event in program.of(Backward)] == [(wrapper.order,), (bare.order,)]


def test_the_device_of_an_output_says_nothing_of_the_batch(tmp_path):
    program = read(
        tmp_path,
        """
class Net(nn.Module):
    def forward(self, x):
        return x

dist.init_process_group("gloo")
dataset = list(range(64))
loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
model = DDP(Net())
for x in loader:
    out = model(x)
    count = torch.as_tensor([1], device=out.device)
    dist.all_reduce(count)
    dist.all_reduce(out)
""",
    )
    assert [bool(event.loaders) for event in program.of(Collective)] == [False, True]

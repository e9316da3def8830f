"""What the reader predicts of a wrapped model: its parts, what moves and changes it, and what its forward uses."""

from reading import only, read

from ddpdoctor.events import ActivationCheckpoint, LayersUsed, ModelChanged, ModelMoved, ModelWrapped
from ddpdoctor.facts import default_of

NET = """
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Linear(4, width)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.body(x))
"""


def kinds(refs):
    return {ref.type.rpartition(".")[2] for ref in refs}


def test_where_a_model_goes_and_whether_a_wrapper_holds_it_by_then(tmp_path):
    program = read(
        tmp_path,
        NET
        + """
net = Net().half()
net.to("cuda:1")
model = DDP(net)
model.to(memory_format=torch.channels_last)
net.cpu()
""",
    )
    moves = program.of(ModelMoved)
    assert [(move.device, move.dtype, move.layout) for move in moves] == [
        (None, "float16", None),
        ("cuda", None, None),
        (None, None, "channels_last"),
        ("cpu", None, None),
    ]
    assert default_of(moves[1].index) == 1
    assert [bool(move.wrapped) for move in moves] == [False, False, True, True]


def test_parameters_that_are_frozen_say_whose_they_are(tmp_path):
    program = read(
        tmp_path,
        NET
        + """
net = Net()
for parameter in net.body.parameters():
    parameter.requires_grad = False
model = DDP(net)
model.module.head.weight.requires_grad_(True)
model.requires_grad_(False)
""",
    )
    body, head, whole = program.of(ModelChanged)
    assert (default_of(body.value), body.wrapped) == (False, ())
    assert kinds(body.inside) == {"Linear", "Net"}
    assert (default_of(head.value), head.part) == (True, "weight")
    assert head.wrapped == whole.wrapped == (only(program.of(ModelWrapped)).wrapper,)


def test_parameters_of_a_part_that_the_source_does_not_show(tmp_path):
    program = read(
        tmp_path,
        """
import torchvision
net = torchvision.models.resnet18()
for name, parameter in net.layer1.named_parameters():
    parameter.requires_grad = False
""",
    )
    assert only(program.of(ModelChanged)).part.endswith("layer1")


def test_a_layer_that_is_put_into_a_wrapped_model(tmp_path):
    program = read(
        tmp_path,
        """
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
net.append(nn.Linear(4, 4))
model = DDP(net)
model.module[1] = nn.Linear(4, 4)
net.append(nn.Linear(4, 2))
net.pool = nn.Identity()
""",
    )
    assert [change.what for change in program.of(ModelChanged)] == ["layer", "layer"]


def test_values_that_are_drawn_anew(tmp_path):
    program = read(
        tmp_path,
        NET
        + """
model = DDP(Net())
nn.init.zeros_(model.module.head.bias)
nn.init.normal_(model.module.head.weight)
model.module.body.reset_parameters()
""",
    )
    assert [change.what for change in program.of(ModelChanged)] == ["values", "values"]


def test_what_a_forward_uses_always_and_what_by_chance(tmp_path):
    program = read(
        tmp_path,
        """
import random

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.extra = nn.Linear(4, 4), nn.Bilinear(4, 4, 2), nn.LayerNorm(4)

    def forward(self, x):
        x = self.body(x)
        if random.random() < 0.5:
            x = self.extra(x)
        return self.head(x, x)

model = DDP(Net(), find_unused_parameters=True)
model(torch.randn(2, 4)).sum().backward()
""",
    )
    used = only(program.of(LayersUsed))
    assert kinds(used.always) == {"Net", "Linear", "Bilinear"}
    assert kinds(used.sometimes) == {"LayerNorm"}


def test_an_option_that_decides_the_architecture_is_no_chance(tmp_path):
    program = read(
        tmp_path,
        """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--norm", action="store_true")
args = parser.parse_args()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(self.body(x)) if args.norm else self.body(x)

DDP(Net())(torch.randn(2, 4))
""",
    )
    assert only(program.of(LayersUsed)).sometimes == ()


def test_checkpoints_are_reentrant_unless_told_otherwise(tmp_path):
    program = read(
        tmp_path,
        """
from functools import partial
from torch.utils.checkpoint import checkpoint
again = partial(checkpoint, use_reentrant=False)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.shared = nn.Linear(4, 4)

    def forward(self, x, option=None):
        for layer in self.layers:
            x = checkpoint(layer, x)
        for _ in range(2):
            x = again(self.shared, x)
        for _ in range(2):
            x = checkpoint(self.shared, x, use_reentrant=True)
        return checkpoint(self.shared, x, use_reentrant=option)

DDP(Net())(torch.randn(2, 4), unknown)
""",
    )
    assert [(one.reentrant, one.times) for one in program.of(ActivationCheckpoint)] == [
        (True, 1),
        (False, 2),
        (True, 4),
        (None, 5),
    ]


def test_whether_a_wrapped_model_has_buffers(tmp_path):
    program = read(
        tmp_path,
        NET
        + """
import torchvision, transformers

class Table(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(3))

class Part(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

DDP(Net())
DDP(Part(Table()))
DDP(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)))
DDP(torchvision.models.resnet50())
DDP(Part(transformers.AutoModel.from_pretrained("bert")))
DDP(nn.InstanceNorm2d(4, affine=True))
""",
    )
    assert [wrap.buffers for wrap in program.of(ModelWrapped)] == [False, True, True, True, None, False]


def test_whether_a_wrapped_model_was_certainly_made_on_the_cpu(tmp_path):
    program = read(
        tmp_path,
        NET
        + """
DDP(Net())
DDP(nn.Linear(4, 4, device="cuda"))
DDP(make())
torch.set_default_device("cuda")
DDP(Net())
""",
    )
    assert [wrap.on_cpu for wrap in program.of(ModelWrapped)] == [True, False, False, False]


def test_the_sync_batch_norm_layers_of_a_wrapped_model(tmp_path):
    program = read(
        tmp_path,
        """
norm = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
DDP(norm)
if option:
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(norm)
DDP(norm)
DDP(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(4))))
DDP(nn.Sequential(nn.SyncBatchNorm(4)))
""",
    )
    assert [wrap.synced is not None for wrap in program.of(ModelWrapped)] == [False, False, True, True]


IDLE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.token = nn.Parameter(torch.zeros(4))
        self.spare = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.body(x)
"""


def test_parts_that_no_code_takes_in_hand(tmp_path):
    program = read(tmp_path, IDLE + "DDP(Net())\n")
    assert [part.name for part in only(program.of(ModelWrapped)).idle] == ["token", "spare"]


def test_parts_that_code_somewhere_takes_in_hand(tmp_path):
    for more in (
        "model.module.spare(model.module.token)",
        "vars(self)",
        "names = ('spare', 'token')",
        "net.children()",
    ):
        program = read(tmp_path, f"{IDLE}model = DDP(Net())\n{more}\n")
        assert only(program.of(ModelWrapped)).idle == ()

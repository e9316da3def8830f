"""Which device a model goes to, through what chooses it."""

import pytest
from reading import only, read

from ddpdoctor.events import Collective, DeviceUsed
from ddpdoctor.value import Constant

CHOICE = 'torch.device("cuda:1" if torch.cuda.is_available() else "cpu")'


def test_a_device_that_is_chosen_is_used_where_there_are_gpus(tmp_path):
    used = read(tmp_path, f"device = {CHOICE}\nnn.Linear(2, 2).to(device)\n").of(DeviceUsed)
    assert [event.index.value for event in used if isinstance(event.index, Constant)] == [1]
    assert [str(literal) for event in used for literal in event.when] == ["CUDA is available"]


@pytest.mark.parametrize(
    ("made", "there"),
    [
        ("t = torch.tensor([1.0])", True),
        ("t = torch.zeros(2)\nfor x in range(3):\n    t += x", True),
        ("t = torch.ones(2).cuda().cpu()", True),
        ("t = torch.zeros(2).double()", True),
        ("t = torch.zeros(2, device='cpu')", True),
        ("t = torch.zeros(2).cuda()", False),
        ("t = torch.zeros(2, device='cuda')", False),
        ("t = torch.zeros(1) + torch.ones(1).cuda()", False),
        ("t = torch.tensor(torch.ones(1).cuda().sum())", False),
        ("t = torch.zeros_like(torch.ones(1).cuda())", False),
        ("torch.set_default_device('cuda')\nt = torch.zeros(1)", False),
    ],
)
def test_a_tensor_is_on_the_cpu_where_that_is_certain(tmp_path, made, there):
    assert only(read(tmp_path, f"{made}\ndist.all_reduce(t)\n").of(Collective)).on_cpu is there


def test_a_try_with_handlers_is_told_from_one_without(tmp_path):
    text = "try:\n    dist.barrier()\nexcept RuntimeError:\n    pass\ntry:\n    dist.barrier()\nfinally:\n    pass\n"
    assert [event.is_within("try") for event in read(tmp_path, text).of(Collective)] == [True, False]


PUT = "rank, n = dist.get_rank(), torch.cuda.device_count()\n"


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("f'cuda:{rank}'", 1),
        ("'cuda:%d' % rank", 1),
        ("'cuda:' + str(rank)", 1),
        ("torch.device('cuda', rank)", 1),
        ("torch.device(f'cuda:{rank}')", 1),
        ("{'cuda:%d' % 0: 'cuda:%d' % rank}", 1),
        ("dict([('cuda:0', f'cuda:{rank}')])", 1),
        ("lambda storage, where: storage.cuda(rank)", 1),
        ("partial(lambda storage, where, to: storage.cuda(to), to=rank)", 1),
        ("lambda s, l: torch.serialization.default_restore_location(s, f'cuda:{rank}')", 1),
        ("f'cuda:{rank}' if torch.cuda.is_available() else 'cpu'", 1),
        ("rank", 0),
        ("'cpu'", 0),
        ("'cuda'", 0),
        ("lambda storage, where: storage", 0),
        ("lambda storage, where: 'cpu'", 0),
        ("options.where", 0),
    ],
)
def test_a_map_location_uses_the_gpus_that_it_names(tmp_path, location, found):
    used = read(tmp_path, f"from functools import partial\n{PUT}torch.load('x', map_location={location})\n").of(
        DeviceUsed
    )
    assert len([event for event in used if event.index is not None and "rank" in event.index.taint]) == found
    assert len(used) == found


def test_what_is_downloaded_is_put_onto_a_gpu_too(tmp_path):
    text = f"{PUT}torch.hub.load_state_dict_from_url('https://x', map_location=f'cuda:{{rank}}')\n"
    assert "rank" in only(read(tmp_path, text).of(DeviceUsed)).index.taint


@pytest.mark.parametrize(
    ("before", "named"),
    [("", False), ("torch.cuda.set_device(torch.cuda.current_device())", False), ("torch.cuda.set_device(rank)", True)],
)
@pytest.mark.parametrize(
    "device",
    [
        "torch.cuda.current_device()",
        "f'cuda:{torch.cuda.current_device()}'",
        "'cuda:' + str(torch.cuda.current_device())",
        "torch.device('cuda', torch.cuda.current_device())",
        "torch.device('cuda:{}'.format(torch.cuda.current_device()))",
    ],
)
def test_the_number_of_the_current_device_is_none_where_nothing_has_selected_one(tmp_path, before, named, device):
    event = only(read(tmp_path, f"{PUT}{before}\nnn.Linear(2, 2).to({device})\n").of(DeviceUsed))
    assert (event.index is not None) is named


@pytest.mark.parametrize(
    ("loss", "used"),
    [("nn.KLDivLoss(reduction='sum')", 0), ("nn.CrossEntropyLoss()", 0), ("nn.CrossEntropyLoss(torch.ones(3))", 1)],
)
def test_a_loss_without_weights_moves_nothing(tmp_path, loss, used):
    assert len(read(tmp_path, f"criterion = {loss}.cuda()\n").of(DeviceUsed)) == used

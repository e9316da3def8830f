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

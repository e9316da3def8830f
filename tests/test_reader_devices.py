"""Which device a model goes to, through what chooses it."""

from reading import read

from ddpdoctor.events import DeviceUsed
from ddpdoctor.value import Constant

CHOICE = 'torch.device("cuda:1" if torch.cuda.is_available() else "cpu")'


def test_a_device_that_is_chosen_is_used_where_there_are_gpus(tmp_path):
    used = read(tmp_path, f"device = {CHOICE}\nnn.Linear(2, 2).to(device)\n").of(DeviceUsed)
    assert [event.index.value for event in used if isinstance(event.index, Constant)] == [1]
    assert [str(literal) for event in used for literal in event.when] == ["CUDA is available"]

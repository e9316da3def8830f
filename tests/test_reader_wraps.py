"""What wraps a model for several GPUs, in whatever spelling."""

import pytest
from reading import only, read

from ddpdoctor.events import DATA_PARALLEL, Forward, ModelWrapped


@pytest.mark.parametrize(
    "text",
    [
        "nn.DataParallel(nn.Linear(2, 2))",
        "from torch_geometric.nn import DataParallel\nDataParallel(nn.Linear(2, 2))",
        "class Own(nn.DataParallel):\n    pass\nOwn(nn.Linear(2, 2))",
        "class Own(nn.DataParallel):\n    def __init__(self, m):\n        super().__init__(m)\nOwn(nn.Linear(2, 2))",
        "nn.parallel.data_parallel(nn.Linear(2, 2), torch.zeros(1, 2))",
    ],
)
def test_one_process_for_all_gpus(tmp_path, text):
    assert only(read(tmp_path, text).of(ModelWrapped)).how == DATA_PARALLEL


def test_the_function_runs_the_modules_own_forward(tmp_path):
    program = read(
        tmp_path, "m = nn.Linear(2, 2)\nnn.parallel.data_parallel(m, (torch.zeros(1, 2),))\nm(torch.ones(1, 2))"
    )
    assert [event.via for event in program.of(Forward)] == ["model", "model"]

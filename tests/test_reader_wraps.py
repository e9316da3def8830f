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


@pytest.mark.parametrize(
    ("forward", "unshown"),
    [
        ("return self.head(self.encoder(x))", False),
        ("return self.head(self.named(x))", True),
        ("return self.head(self.named.forward(x))", True),
        ("y, _ = self.decoder(x)\n        return y", True),
        ("y, rating = self.decoder(x)\n        return y", True),
        ("y, rating = self.decoder(x)\n        return y * rating", False),
        ("y, _ = self.encoder(x)\n        return y", False),
    ],
)
def test_parts_that_a_forward_may_leave_out(tmp_path, forward, unshown):
    program = read(
        tmp_path,
        f"""
        import argparse, importlib
        parser = argparse.ArgumentParser()
        parser.add_argument("--network", default="")
        args = parser.parse_args()
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
            def forward(self, x):
                return self.a(x), self.b(x)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.named = importlib.import_module("networks." + args.network).Network()
                self.encoder, self.decoder, self.head = nn.LSTM(4, 4), Decoder(), nn.Linear(4, 4)
            def forward(self, x):
                {forward.replace(chr(10), chr(10) + "        ")}
        DDP(Net())
        """,
    )
    assert only(program.of(ModelWrapped)).unshown is unshown

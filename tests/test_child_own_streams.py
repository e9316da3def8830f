"""A script may close its streams or replace functions that we need: the run goes on as without us."""

import pytest
from child_run import child

from ddpdoctor.events import Ended, Raised


@pytest.mark.parametrize(
    "script",
    [
        "import sys\nsys.stdout.close()\nsys.stderr.close()\n",
        "import sys\nsys.stdout = sys.stderr = None\n",
        "import builtins, torch._dynamo\nbuiltins.open = None\n",
        "import builtins\nbuiltins.print = None\n",
    ],
)
def test_a_script_without_streams_or_builtins_trains(tmp_path, script):
    training = """
import torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""
    run = child(tmp_path, f"import torch\n{script}{training}")
    assert run.exits == (0,), run.output
    assert run.one(Ended).how == "natural" and not run.of(Raised)


def test_a_text_for_sys_exit_needs_no_stream(tmp_path):
    run = child(tmp_path, "import sys\nsys.stderr.close()\nsys.exit('lost')\n")
    assert run.exits == (1,) and run.one(Raised).message == "lost" and not run.one(Raised).ours

"""Where it was decided which ranks come to a collective, and which calls contain one."""

import pytest
from reading import only, read

from ddpdoctor.events import Collective, SubgroupMade

INIT = "dist.init_process_group('nccl')\nrank = dist.get_rank()\n"


@pytest.mark.parametrize(
    ("body", "line", "left"),
    [
        ("if rank == 0:\n    dist.barrier()\n", 1, False),
        ("if rank == 0:\n    if rank == 0:\n        dist.barrier()\n", 1, False),
        ("if rank == 0:\n    pass\nif rank == 0:\n    dist.barrier()\n", 3, False),
        ("def f():\n    if rank:\n        return\n    dist.barrier()\nf()\n", 2, True),
        ("dist.barrier()\n", None, False),
    ],
)
def test_the_test_that_decides_is_the_one_in_force(tmp_path, body, line, left):
    event = only(read(tmp_path, INIT + body).of(Collective))
    first = event.place.line - body[: body.index("dist.barrier")].count("\n")
    assert (event.decided.line - first + 1 if event.decided else None, event.left) == (line, left)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("import torch.distributed.checkpoint as dcp; dcp.save({}, checkpoint_id='c')", ["save"]),
        ("import torch.distributed.checkpoint as dcp; dcp.save({}, checkpoint_id='c', no_dist=True)", []),
        ("from torch.distributed.checkpoint.state_dict_loader import load; load({}, checkpoint_id='c')", ["load"]),
        (
            "from torch.distributed.optim import ZeroRedundancyOptimizer as Z; Z([]).consolidate_state_dict()",
            ["consolidate_state_dict"],
        ),
        (
            "from torch.distributed.fsdp import FullyShardedDataParallel as F; F(nn.Linear(1, 1)).state_dict()",
            ["state_dict"],
        ),
        ("nn.Linear(1, 1).state_dict()", []),
        ("import deepspeed; e, _, _, _ = deepspeed.initialize(); e.save_checkpoint('c')", ["save_checkpoint"]),
        ("import lightning; lightning.Trainer().save_checkpoint('c')", ["save_checkpoint"]),
    ],
)
def test_calls_with_collectives_inside_are_seen(tmp_path, call, found):
    assert [event.op for event in read(tmp_path, INIT + call + "\n").of(Collective)] == found


@pytest.mark.parametrize(("more", "made"), [("", 1), (", use_local_synchronization=True", 0)])
def test_a_group_is_made_by_all_ranks_or_by_its_members(tmp_path, more, made):
    program = read(tmp_path, INIT + f"dist.new_group([0]{more})\n")
    assert len(program.of(SubgroupMade)) == made


@pytest.mark.parametrize(
    ("test", "there"),
    [
        ("many > 1", False),
        ("many >= 1", True),
        ("many == 1", True),
        ("many > 0", True),
        ("not many < 1", True),
        ("0 < many", True),
        ("many == 2", False),
    ],
)
def test_a_boolean_that_is_compared_with_a_number_is_worked_out(tmp_path, test, there):
    body = f"many = dist.get_world_size() > 1\nif {test}:\n    dist.barrier()\n"
    found = read(tmp_path, INIT + body).of(Collective)
    assert [[str(literal) for literal in event.when] for event in found] == ([["1 < world size"]] if there else [])


@pytest.mark.parametrize(
    ("test", "there"),
    [
        ("torch.__version__ >= '1.6'", True),
        ("torch.__version__ < '1.0'", False),
        ("version.parse(torch.__version__) >= version.parse('1.6')", True),
        ("LooseVersion(torch.__version__) > LooseVersion('1.9.1')", True),
        ("version.parse('2.0.0') <= version.parse(torch.__version__)", True),
        ("torch.__version__ == '1.4.0'", False),
    ],
)
def test_a_version_of_torch_that_nobody_has_any_more_decides(tmp_path, test, there):
    imports = "from packaging import version\nfrom distutils.version import LooseVersion\n"
    found = read(tmp_path, f"{imports}{INIT}if {test}:\n    dist.barrier()\n").of(Collective)
    assert [list(event.when) for event in found] == ([[]] if there else [])


@pytest.mark.parametrize(
    "test", ["torch.__version__ >= '2.4'", "torch.__version__ == '2.0'", "torch.__version__ < '3'"]
)
def test_a_newer_version_of_torch_stays_a_test(tmp_path, test):
    event = only(read(tmp_path, f"{INIT}if {test}:\n    dist.barrier()\n").of(Collective))
    assert len(event.when) == 1


def test_a_function_that_is_called_too_often_to_be_read_answers_as_before(tmp_path):
    calls = "".join(f"if is_main():\n    print({n})\n" for n in range(80))
    body = "def is_main():\n    return dist.get_rank() == 0\n" + calls + "if is_main():\n    dist.barrier()\n"
    event = only(read(tmp_path, INIT + body).of(Collective))
    assert [literal.atom.kind for literal in event.when] == ["rank"]

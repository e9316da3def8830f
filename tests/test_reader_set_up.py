"""Groups and devices that functions of mmcv and timm set up, and their wrappers."""

import pytest
from reading import only, ranks, read

from ddpdoctor import registry
from ddpdoctor.events import Collective, DeviceSelected, Forward, GroupInit, ModelWrapped
from ddpdoctor.finding import Severity

OF_MMCV = """
from mmcv.parallel import MMDistributedDataParallel
from mmcv.runner import get_dist_info, init_dist

init_dist("pytorch"{backend})
rank, world_size = get_dist_info()
model = MMDistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).cuda())
model(torch.ones(2, 4)).sum().backward()
if rank == 0:
    dist.barrier()
"""
OF_TIMM = """
import argparse
from timm.utils import init_distributed_device

parser = argparse.ArgumentParser()
{options}
args = parser.parse_args()
device = init_distributed_device(args)
model = nn.Linear(4, 4).to(device)
if args.distributed:
    model = DDP(model, device_ids=[device])
    if args.rank == 0:
        dist.barrier()
"""


def found(program, name):
    return len(list(registry.load(name).predict(program)))


@pytest.mark.parametrize(("backend", "asked"), [("", "nccl"), (", 'gloo'", "gloo"), (", backend='gloo'", "gloo")])
def test_mmcv_initialises_the_group_and_selects_each_ranks_device(tmp_path, backend, asked):
    program = read(tmp_path, OF_MMCV.replace("{backend}", backend))
    assert only(program.of(GroupInit)).backend.value == asked
    assert only(program.of(DeviceSelected)).index.expression.operator == "local_rank"
    assert ranks(only(program.of(Collective))) == [0]


def test_the_wrapper_of_mmcv_is_one_of_torch(tmp_path):
    program = read(tmp_path, OF_MMCV.replace("{backend}", ""))
    wrap = only(program.of(ModelWrapped))
    assert only(program.of(Forward)).model == wrap.wrapper
    assert found(program, "unconverted-batchnorm") == 1
    assert found(program, "process-group-not-destroyed") == 1
    assert found(program, "no-device-selected") == 0


def test_timm_initialises_the_group_where_there_are_several_ranks(tmp_path):
    program = read(tmp_path, OF_TIMM.replace("{options}", ""))
    init = only(program.of(GroupInit))
    assert (init.backend.value, ranks(init), ranks(init, "spawn")) == ("nccl", [0, 1, 2, 3], [0, 1, 2, 3])
    assert ranks(only(program.of(Collective))) == [0]
    assert only(program.of(ModelWrapped)).when == init.when
    assert found(program, "used-before-init") == 0


def test_the_backend_is_the_option_of_that_name(tmp_path):
    option = 'parser.add_argument("--dist-backend", default="gloo")'
    backend = only(read(tmp_path, OF_TIMM.replace("{options}", option)).of(GroupInit)).backend
    assert backend.default.value == "gloo"


def test_an_option_that_nothing_asks_for_is_no_fault_beside_what_the_launcher_says(tmp_path):
    option = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--local_rank', type=int)\n"
    program = read(tmp_path, option + "parser.parse_args()\n" + OF_MMCV.replace("{backend}", ""))
    (fault,) = registry.load("local-rank-argument").predict(program)
    assert fault.severity is Severity.NOTE

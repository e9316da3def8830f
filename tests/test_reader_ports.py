"""Which port the ranks meet at, and where the literal stands that it comes from."""

import pytest
from reading import only, read

from ddpdoctor.events import EnvSet, GroupInit
from ddpdoctor.value import Constant


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("'tcp://localhost:23456'", "'23456'"),
        ("'tcp://localhost:23456?rank=0&world_size=2'", "'23456'"),
        ("f'tcp://{host}:23456'", "'23456'"),
        ("f'tcp://{host}:{23456}'", "'23456'"),
        ("'tcp://%s:%d' % (host, 23456)", "'23456'"),
        ("'tcp://{}:{}'.format(host, os.environ['PORT'])", "os.environ['PORT']"),
        ("'env://'", None),
        ("'file:///tmp/meet:23456'", None),
    ],
)
def test_the_port_in_an_address(tmp_path, address, port):
    program = read(
        tmp_path, f"host = os.environ['HOST']\ndist.init_process_group('nccl', {address}, rank=0, world_size=2)"
    )
    found = only(program.of(GroupInit)).port
    assert (found and found.text()) == port


def test_a_port_keeps_the_place_of_its_literal(tmp_path):
    text = "def setup(port=12355):\n    os.environ['MASTER_PORT'] = str(port)\nsetup()\ndist.init_process_group('nccl')"
    program = read(tmp_path, text, head="import os\nimport torch.distributed as dist\n")
    value = only(program.of(EnvSet)).value
    assert isinstance(value, Constant)
    assert value.value == "12355"
    assert value.written is not None
    assert (value.written.line, value.written.column) == (3, 16)


def test_the_port_of_a_store(tmp_path):
    store = "store = dist.TCPStore('localhost', 12444, 2, True)\n"
    program = read(tmp_path, store + "dist.init_process_group('nccl', store=store, rank=0, world_size=2)")
    found = only(program.of(GroupInit)).port
    assert found is not None
    assert found.text() == "12444"

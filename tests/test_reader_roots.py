"""Programs without an entry: which functions are interpreted that nothing calls, and how often what they share."""

import pytest
from reading import read

from ddpdoctor.events import Collective, GroupInit, ModelWrapped

PARTS = """
import numpy as np
from helpers import spread

def scaled(x):
    return DDP(x)

def pieces(x):
    dist.all_reduce(x)

def totals(x):
    return pieces(x)

class Meter:
    def reduce(self, x):
        totals(x)

    def draw(self, x):
        return np.mean(x)

def remote(x):
    spread(x)
"""


def test_functions_that_speak_of_ranks_are_interpreted_though_nothing_calls_them(tmp_path):
    program = read(
        tmp_path, PARTS, helpers="import torch.distributed as dist\n\ndef spread(x):\n    dist.broadcast(x, 0)\n"
    )
    assert [event.op for event in program.of(Collective)] == ["all_reduce"], "through the class's method, once"
    assert len(program.of(ModelWrapped)) == 1


def test_an_import_that_speaks_of_ranks_makes_who_names_it_speak(tmp_path):
    program = read(
        tmp_path,
        """
from dist_helpers import spread

def remote(x):
    spread(x)

def local(x):
    return abs(x)

if __name__ == "__main__":
    print("nothing")
""",
        dist_helpers="import torch.distributed as dist\n\ndef spread(x):\n    dist.broadcast(x, 0)\n",
    )
    assert [event.op for event in program.of(Collective)] == ["broadcast"]


def test_what_the_functions_without_a_caller_share_is_interpreted_twice_where_it_is_long(tmp_path):
    calls = "\n".join(f"def test_{n}(rank):\n    world(rank)\n" for n in range(6))
    long = "\n".join(f"    x{n} = rank + {n}" for n in range(400))
    program = read(
        tmp_path,
        f"""
def world(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
{long}

{calls}
""",
    )
    assert len(program.of(GroupInit)) == 2


SETUP = """
import torch.distributed as dist

class Group:
    def start(self):
        dist.init_process_group("gloo")

    def stop(self):
        dist.destroy_process_group()

def setup():
    dist.init_process_group("gloo")

def cleanup():
    dist.destroy_process_group()
"""
MAIN = """
from setting_up import cleanup, setup

setup()
try:
    print(1)
finally:
    cleanup()
"""


@pytest.mark.parametrize("asked", [["."], ["main.py", "setting_up.py"], ["setting_up.py"]])
def test_nothing_is_concluded_of_what_functions_without_a_caller_do_together(ran, project, asked):
    """Helpers are called by another module, in an order and under a protection that stand there."""
    (project / "setting_up.py").write_text(SETUP)
    (project / "main.py").write_text(MAIN)
    result = ran("check", "--source-only", *asked)
    assert (result.status, result.out.split(" in ")[0]) == (0, "No findings")


def test_what_one_function_without_a_caller_does_by_itself_is_found(ran, project):
    (project / "setting_up.py").write_text(
        SETUP + "\ndef run(train):\n    setup()\n    train()\n    dist.destroy_process_group()\n"
    )
    result = ran("check", "--source-only", ".")
    assert "setting_up.py:20:5  note  unprotected-destroy" in result.out


def test_each_root_is_a_program_of_its_own_with_what_its_module_and_its_object_did_before(tmp_path):
    program = read(tmp_path, "dist.init_process_group('gloo')\n" + SETUP, name="setting_up.py")
    assert program.entered and not program.roots, "the module itself reaches what is looked for"
    program = read(tmp_path, SETUP, name="setting_up.py")
    kinds = [sorted(root.kinds) for root in program.alone()]
    assert kinds == [[], ["GroupInit"], ["GroupDestroyed"], ["GroupInit"], ["GroupDestroyed"]]

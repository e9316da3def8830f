"""Programs without an entry: which functions are interpreted that nothing calls, and how often what they share."""

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

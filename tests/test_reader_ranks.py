"""What the reader makes of rank numbers and of tests on them: who can reach an event."""

import pytest
from reading import only, ranks, read

from ddpdoctor.events import (
    Collective,
    DeviceSelected,
    EnvSet,
    FileUsed,
    GroupAsked,
    GroupDestroyed,
    GroupInit,
    Unfollowed,
)
from ddpdoctor.facts.ranks import for_some_ranks_only
from ddpdoctor.value import Symbol
from ddpdoctor.world import WORLDS, evaluate


def barrier_under(folder, test, setup="", head=None):
    """The one barrier of a program that stands under a test."""
    body = f"dist.init_process_group('nccl')\n{setup}\nif {test}:\n    dist.barrier()\n"
    program = read(folder, body) if head is None else read(folder, body, head=head)
    return only(program.of(Collective))


@pytest.mark.parametrize(
    ("setup", "test", "expected"),
    [
        ("", "dist.get_rank() == 0", [0]),
        ("rank = dist.get_rank()", "not rank", [0]),
        ("rank = int(os.environ['RANK'])", "rank > 0", [1, 2, 3]),
        ("rank = int(os.environ.get('RANK', -1))", "rank in (-1, 0)", [0]),
        ("local = int(os.getenv('LOCAL_RANK', '0'))", "local == 0", [0, 2]),
        ("rank = dist.get_rank()", "rank % torch.cuda.device_count() == 0", [0, 2]),
        ("main = dist.get_rank() == 0", "main", [0]),
        ("main = dist.get_rank() == 0", "main and not main", []),
        ("rank = dist.get_rank(); last = dist.get_world_size() - 1", "rank == last", [3]),
        ("", "dist.get_rank() != 0 or dist.get_world_size() == 1", [1, 2, 3]),
        ("import argparse; p = argparse.ArgumentParser(); p.add_argument('--local_rank', type=int); a = p.parse_args()",
         "a.local_rank == 0", [0, 2]),
        ("rank = int(os.environ['NODE_RANK']) * torch.cuda.device_count() + int(os.environ['LOCAL_RANK'])",
         "rank == 0", [0]),
        ("import argparse; p = argparse.ArgumentParser(); p.add_argument('--many', type=int, default=1)\n"
         "a = p.parse_args()\nif a.many != 1: raise SystemExit", "not a.many or a.many and dist.get_rank() == 0", [0]),
        ("class C: main_rank = 0\nrank = dist.get_rank()", "rank == C.main_rank", [0]),
    ],
)  # fmt: skip
def test_who_reaches_what_stands_under_a_test_on_the_rank(tmp_path, setup, test, expected):
    program = read(tmp_path, f"dist.init_process_group('nccl')\n{setup}\nif {test}:\n    dist.barrier()\n")
    reached = [ranks(event) for event in program.of(Collective)]
    assert reached == ([expected] if expected else [])


@pytest.mark.parametrize(
    "test",
    [
        "dist.get_world_size() > 1",
        "dist.is_initialized()",
        "dist.is_available() and dist.is_initialized()",
        "int(os.environ.get('WORLD_SIZE', '1')) > 1",
        "'RANK' in os.environ",
        "int(os.environ.get('RANK', -1)) != -1",
        "torch.cuda.is_available()",
    ],
)
def test_tests_on_the_run_are_no_tests_on_the_rank(tmp_path, test):
    assert not for_some_ranks_only(barrier_under(tmp_path, test))


def test_what_merely_got_touched_by_a_rank_is_no_test_on_it(tmp_path):
    event = barrier_under(tmp_path, "os.path.exists(f'part-{rank}.pt')", "rank = dist.get_rank()")
    assert not for_some_ranks_only(event)


def test_a_guard_that_returns_restricts_the_rest(tmp_path):
    program = read(
        tmp_path,
        """
        def save():
            if dist.get_rank() != 0:
                return
            torch.save({}, "x.pt")
            dist.barrier()

        dist.init_process_group("nccl")
        save()
        """,
    )
    assert ranks(only(program.of(Collective))) == [0]
    assert ranks(only(program.of(FileUsed))) == [0]


def test_a_callee_that_exits_restricts_its_caller(tmp_path):
    program = read(
        tmp_path,
        """
        import sys
        def leave():
            if dist.get_rank() == 0:
                sys.exit(0)

        dist.init_process_group("nccl")
        leave()
        dist.barrier()
        """,
    )
    assert ranks(only(program.of(Collective))) == [1, 2, 3]


def test_the_test_may_stand_in_a_decorator(tmp_path):
    program = read(
        tmp_path,
        """
        import functools
        def master_only(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                if dist.get_rank() == 0:
                    return fn(*args, **kwargs)
            return inner

        @master_only
        def save(path):
            torch.save({}, path)

        dist.init_process_group("nccl")
        save("x.pt")
        """,
    )
    saved = only(program.of(FileUsed))
    assert ranks(saved) == [0] and saved.path.value == "x.pt"


def test_a_guard_may_be_a_method_a_property_or_an_attribute(tmp_path):
    program = read(
        tmp_path,
        """
        class Trainer:
            def __init__(self, rank):
                self.rank = rank
                self.is_chief = rank == 0
            @property
            def leads(self):
                return self.is_chief
            def first(self):
                return not self.rank
            def run(self):
                if self.is_chief:
                    torch.save({}, "a.pt")
                if self.leads:
                    torch.save({}, "b.pt")
                if self.first():
                    torch.save({}, "c.pt")

        dist.init_process_group("nccl")
        Trainer(dist.get_rank()).run()
        """,
    )
    assert [ranks(event) for event in program.of(FileUsed)] == [[0], [0], [0]]


def test_the_rank_of_a_spawned_process_is_its_first_argument(tmp_path):
    program = read(
        tmp_path,
        """
        def worker(rank, world_size):
            dist.init_process_group("nccl", rank=rank, world_size=world_size)
            if rank == 0:
                dist.barrier()

        if __name__ == "__main__":
            mp.spawn(worker, args=(2,), nprocs=2)
        """,
    )
    event = only(program.of(Collective))
    assert event.process == "child 0" and event.stack == ()
    assert ranks(event, "spawn") == [0]
    assert only(program.of(GroupInit)).process == "child 0"


def test_the_loop_variable_that_starts_processes_is_their_rank(tmp_path):
    program = read(
        tmp_path,
        """
        from torch.multiprocessing import Process
        def worker(rank, size):
            dist.init_process_group("gloo", rank=rank, world_size=size)
            if rank == 0:
                dist.barrier()

        if __name__ == "__main__":
            processes = []
            for rank in range(2):
                p = Process(target=worker, args=(rank, 2))
                p.start()
                processes.append(p)
            for p in processes:
                p.join()
        """,
    )
    assert ranks(only(program.of(Collective)), "spawn") == [0]


def test_a_global_rank_is_put_together_from_node_and_local_rank(tmp_path):
    program = read(
        tmp_path,
        """
        import argparse
        def main_worker(gpu, ngpus, args):
            args.rank = args.rank * ngpus + gpu
            dist.init_process_group("nccl", rank=args.rank, world_size=args.world_size)
            if args.rank % ngpus == 0:
                torch.save({}, "x.pt")

        if __name__ == "__main__":
            parser = argparse.ArgumentParser()
            parser.add_argument("--rank", default=0, type=int)
            parser.add_argument("--world-size", default=1, type=int)
            args = parser.parse_args()
            ngpus = torch.cuda.device_count()
            mp.spawn(main_worker, nprocs=ngpus, args=(ngpus, args))
        """,
    )
    assert ranks(only(program.of(FileUsed)), "spawn") == [0]


def test_two_stores_under_opposite_conditions_are_kept_apart(tmp_path):
    program = read(
        tmp_path,
        """
        if "RANK" in os.environ:
            rank = int(os.environ["RANK"])
        else:
            rank = -1
        dist.init_process_group("nccl")
        if rank == -1:
            dist.barrier()
        if rank == 0:
            dist.all_reduce(torch.ones(1))
        """,
    )
    never, first = program.of(Collective)
    assert ranks(never) == [] and ranks(first) == [0]


@pytest.mark.parametrize(
    "call",
    [
        "gather(t, None, 0, g)",
        "reduce(t, 0, dist.ReduceOp.SUM, g)",
        "scatter_object_list([], [], 0, g)",
        "all_gather_into_tensor(t, t, g)",
        "broadcast_object_list([1], 0, g)",
        "reduce_scatter_tensor(t, t, dist.ReduceOp.SUM, g)",
        "all_to_all_single(t, t, None, None, g)",
        "monitored_barrier(g)",
        "nn.functional.all_gather(t, g)",
        "nn.gather(t, 0, g)",
        "all_reduce(t, group=g)",
    ],
)
@pytest.mark.parametrize("group", ["dist.new_group([0])", "dist.group.WORLD", "None"])
def test_a_group_is_known_wherever_it_is_given(tmp_path, call, group):
    program = read(tmp_path, f"import torch.distributed.nn\ng = {group}\nt = torch.ones(2)\ndist.{call}\n")
    given = only(program.of(Collective)).group
    assert (given is None) is ("new_group" not in group)


def test_the_default_group_by_its_name_is_the_whole_group(tmp_path):
    setup = "rank = dist.get_rank(dist.group.WORLD)"
    assert ranks(barrier_under(tmp_path, "rank == 0", setup)) == [0]
    program = read(tmp_path, "dist.init_process_group('nccl')\ndist.destroy_process_group(dist.GroupMember.WORLD)\n")
    assert program.of(GroupDestroyed)


@pytest.mark.parametrize(
    ("given", "rest", "expected"),
    [
        ("default=-1, type=int", "", True),
        ("type=int", "", True),
        ("type=int, default=0", "", True),
        ("default=-1, type=int", "if args.rank == -1:\n    args.rank = int(os.environ['RANK'])", True),
        ("type=int, default=0", "if args.url == 'env://':\n    args.rank = int(os.environ['RANK'])", True),
        ("type=int, default=8", "", False),
        ("type=str, default='8'", "", False),
        ("type=int", "me = int(os.environ['RANK'])", False),
        ("type=int, default=0", "me = dist.get_rank()", False),
    ],
)
def test_an_option_called_rank_is_that_of_a_process_only_where_it_can_be(tmp_path, given, rest, expected):
    setup = (
        f"import argparse\np = argparse.ArgumentParser()\np.add_argument('--rank', {given})\nargs = p.parse_args()\n"
    )
    event = barrier_under(tmp_path, "args.rank == 2", f"{setup}{rest}\n")
    assert for_some_ranks_only(event) is expected


@pytest.mark.parametrize(
    ("index", "guessed"),
    [
        ("int(os.environ['RANK'])", False),
        ("dist.get_rank()", False),
        ("node_rank * gpus + int(os.environ['LOCAL_RANK'])", False),
        ("rank", True),
        ("first_gpu + torch.distributed.get_node_local_rank()", True),
    ],
)
def test_a_rank_that_only_its_name_makes_one_is_a_guess(tmp_path, index, guessed):
    program = read(tmp_path, f"def train(rank, node_rank, gpus, first_gpu):\n    torch.cuda.set_device({index})\n")
    assert ("guessed" in only(program.of(DeviceSelected)).index.taint) is guessed


def test_a_node_times_its_processes_plus_the_index_is_the_global_rank(tmp_path):
    program = read(
        tmp_path,
        "def train(node_rank, gpus, local_rank):\n    dist.init_process_group(rank=node_rank * gpus + local_rank)\n",
    )
    rank = only(program.of(GroupInit)).group_rank
    assert isinstance(rank, Symbol)
    assert rank.expression is not None
    assert [evaluate(rank.expression, member) for member in WORLDS["torchrun"]] == [0, 1, 2, 3]


def test_a_rank_that_is_asked_for_before_there_is_a_group(tmp_path):
    program = read(
        tmp_path, "dist.get_rank()\ndist.init_process_group('nccl')\ndist.get_world_size()\ndist.new_group([0])\n"
    )
    assert [event.by for event in program.of(GroupAsked)] == ["get_rank"]


@pytest.mark.parametrize(
    ("call", "noted"),
    [
        ("from tools import init_distributed\ninit_distributed()", ["tools.init_distributed"]),
        ("import deepspeed\ndeepspeed.init_distributed()", []),  # known: a framework's
        ("from tools import load\nload()", []),
        ("nn.init.zeros_(torch.ones(1))", []),
    ],
)
def test_what_may_set_up_the_group_by_its_name_is_noted(tmp_path, call, noted):
    assert [event.call for event in read(tmp_path, call).of(Unfollowed)] == noted


def test_a_rank_as_a_text_is_still_one(tmp_path):
    value = only(read(tmp_path, "os.environ['CUDA_VISIBLE_DEVICES'] = str(dist.get_rank())\n").of(EnvSet)).value
    assert isinstance(value, Symbol)
    assert value.expression is not None
    assert [evaluate(value.expression, member) for member in WORLDS["torchrun"]] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "start",
    [
        "mp.spawn(train, (2,), 2)",
        "train(*numbers)",
        "import fire\nfire.Fire(train)",
    ],
)
def test_what_a_group_is_told_is_the_rank_is_one_whatever_it_is_called(tmp_path, start):
    program = read(
        tmp_path,
        """
        def train(gpu=None, size=None):
            first = gpu in {0, None}
            dist.init_process_group("nccl", rank=gpu, world_size=size)
            if max(1, size) == 1:
                torch.save(1, "alone")
            if first:
                torch.save(1, "model.pt")
        {start}
        """.replace("{start}", start.replace("\n", "\n        ")),
    )
    saved = [event for event in program.of(FileUsed) if ranks(event)]
    assert [ranks(event) for event in saved] == [[0] if "spawn" not in start else [0, 2]]
    assert "rank" in only(program.of(GroupInit)).group_rank.taint


def test_a_function_that_starts_itself_has_other_values_in_the_child(tmp_path):
    program = read(
        tmp_path,
        """
        def main(devices=None, index=None):
            if devices is None:
                mp.spawn(child, (dict(devices=torch.cuda.device_count()),), torch.cuda.device_count())
                return
            dist.init_process_group("nccl", rank=index, world_size=devices)
        def child(i, given):
            given["index"] = i
            main(**given, **os.environ)
        import fire
        fire.Fire(main)
        """,
    )
    assert {event.process for event in program.of(GroupInit)} == {"main", "child 0"}


@pytest.mark.parametrize(
    "ask",
    [
        "try:\n    rank = dist.get_rank()\nexcept Exception:\n    rank = 0\nif rank == 0:\n    torch.save(1, 'a')",
        "def main():\n    try:\n        return dist.get_rank() == 0\n    except (RuntimeError, ValueError):\n"
        "        return True\nif main():\n    torch.save(1, 'a')",
    ],
)
def test_to_ask_for_the_rank_fails_where_there_is_no_group(tmp_path, ask):
    saved = only(read(tmp_path, f"dist.init_process_group('gloo')\n{ask}").of(FileUsed))
    assert for_some_ranks_only(saved)


def test_a_function_that_is_read_no_more_still_has_its_collectives(tmp_path):
    calls = "\n".join("share(x)" for _ in range(70))
    program = read(
        tmp_path,
        f"""
def share(x):
    if x.training:
        dist.all_reduce(x)

def step(x):
    share(x)

{calls}
if dist.get_rank() == 0:
    step(x)
else:
    step(x)
""",
    )
    late = [event for event in program.of(Collective) if "rank" in {one.atom.kind for one in event.when}]
    assert sorted(ranks(event)[0] for event in late) == [0, 1]
    assert all(len(event.stack) == 2 and len(event.when) == 2 for event in late)

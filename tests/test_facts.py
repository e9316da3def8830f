"""What checks conclude from who can reach an event: arms of a test on the rank, counted together."""

from pathlib import Path

import pytest
from reading import read

from ddpdoctor import registry

SETUP = """
dist.init_process_group("nccl")
rank = dist.get_rank()
"""


def messages(check: str, folder: Path, text: str) -> list[str]:
    return [fault.message for fault in registry.load(check).predict(read(folder, SETUP + text))]


ARM = "{test}:\n    dist.barrier()\n"


@pytest.mark.parametrize(
    ("tests", "found"),
    [
        (("if rank == 0", "else"), 0),
        (("if rank == 0", "elif rank == 1", "else"), 0),
        (("if rank == 0", "if rank == 1", "if rank > 1"), 0),
        (("if rank == 0", "elif rank == 1"), 2),
        (("if rank == 0", "if rank in (1, 2)", "if rank >= 2"), 1),
        (("if rank == 0",), 1),
    ],
)
def test_arms_complete_each_other_where_each_rank_comes_to_one(tests, found, tmp_path):
    text = "".join(ARM.format(test=test) for test in tests)
    assert len(messages("rank-conditional-collective", tmp_path, text)) == found


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("rank == 0", "rank 0 calls barrier() here and waits for ever"),
        ("rank == 1", "rank 1 calls barrier() here and waits for ever"),
        ("rank != 0", "every rank but 0 calls barrier() here and waits for ever"),
        ("rank < 2", "only some ranks call barrier() here and wait for ever"),
    ],
)
def test_the_ranks_that_wait_are_named(test, words, tmp_path):
    (message,) = messages("rank-conditional-collective", tmp_path, ARM.format(test=f"if {test}"))
    assert message.startswith(words)


DESTROY = "{test}:\n    dist.destroy_process_group()\n"


@pytest.mark.parametrize(
    ("tests", "found"),
    [(("if rank == 0", "else"), 0), (("if rank == 0", "elif rank == 1", "else"), 0), (("if rank == 0",), 1), ((), 1)],
)
def test_ranks_that_destroy_the_group_in_any_arm_have_destroyed_it(tests, found, tmp_path):
    text = "".join(DESTROY.format(test=test) for test in tests)
    assert len(messages("process-group-not-destroyed", tmp_path, text)) == found


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        ("except", 0),
        ("except Exception", 0),
        ("except (KeyboardInterrupt, BaseException) as error", 0),
        ("except KeyboardInterrupt", 1),
        ("except ValueError", 1),
        ("finally", 0),
    ],
)
def test_a_handler_protects_when_it_is_there_for_whatever_goes_wrong(handler, found, tmp_path):
    raises = "    raise\n" if "except" in handler else ""
    text = f"try:\n    train()\n{handler}:\n    dist.destroy_process_group()\n{raises}dist.destroy_process_group()\n"
    assert len(messages("unprotected-destroy", tmp_path, text)) == found


@pytest.mark.parametrize(
    ("backend", "found"),
    [("'nccl'", 1), ("", 0), ("None", 0), ("'cpu:gloo,cuda:nccl'", 0), ("**options", 0), ("'gloo'", 0)],
)
def test_a_barrier_guesses_its_device_where_nccl_is_all_there_is(backend, found, tmp_path):
    program = read(tmp_path, f"dist.init_process_group({backend})\ndist.barrier()\n")
    assert len(list(registry.load("no-device-selected").predict(program))) == found


@pytest.mark.parametrize(("backend", "found"), [("'nccl'", 1), ("", 1), ("None", 1), ("**options", 0), ("'gloo'", 0)])
def test_a_model_goes_to_the_current_device_whatever_named_nccl(backend, found, tmp_path):
    program = read(tmp_path, f"dist.init_process_group({backend})\nmodel = DDP(nn.Linear(2, 2).cuda())\n")
    assert len(list(registry.load("no-device-selected").predict(program))) == found

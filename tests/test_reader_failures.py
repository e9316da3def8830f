"""What a handler runs under: a launcher's variable that is not set, or anything."""

import pytest
from reading import only, read

from ddpdoctor.events import Collective
from ddpdoctor.facts.ranks import for_some_ranks_only


@pytest.mark.parametrize("caught", ["KeyError", "", "Exception", "(KeyError, ValueError)"])
def test_a_rank_is_known_after_it_was_asked_for_in_a_try(tmp_path, caught):
    program = read(
        tmp_path,
        f"""
        try:
            rank = int(os.environ["RANK"])
            local_rank = int(os.environ["LOCAL_RANK"])
        except {caught}:
            rank = local_rank = 0
        if rank == 0:
            dist.barrier()
        """,
    )
    assert for_some_ranks_only(only(program.of(Collective)))


@pytest.mark.parametrize(
    "body", ["rank = int(os.environ['MY_RANK'])", "rank = ask(os.environ['RANK'])", "rank = int(places['RANK'])"]
)
def test_other_failures_may_come_anywhere(tmp_path, body):
    program = read(
        tmp_path,
        f"""
        try:
            {body}
        except Exception:
            dist.barrier()
        """,
    )
    assert not for_some_ranks_only(only(program.of(Collective)))

"""The loops of a script are brought to a natural end, and nothing else of it changes."""

import sys
import traceback
import types

import pytest

from ddpdoctor.harness.child.failures import is_ours
from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.rounds import Rounds, Stop
from ddpdoctor.harness.child.source_cut import AGAIN, NEXT, ROUNDS, SourceCut


@pytest.fixture
def rounds():
    return Rounds()


@pytest.fixture
def cut(tmp_path, rounds):
    return SourceCut(UserFrames(str(tmp_path), str(tmp_path / "train.py")), rounds)


@pytest.fixture
def run(tmp_path, rounds, cut):
    """Execute a module's text with its loops rewritten; ``stop_at(n)`` in it cuts the loops around its n-th call."""

    def execute(text, stop_at=3):
        calls = []

        def step(value=None):
            calls.append(value)
            if len(calls) == stop_at:
                import sys

                for loop in rounds.around(sys._getframe(1)):
                    loop.cut = True

        module = types.ModuleType("train")
        names = {ROUNDS: rounds.of, AGAIN: rounds.again, NEXT: rounds.asks}
        vars(module).update(names, step=step, calls=calls)
        exec(cut.compiled(text, str(tmp_path / "train.py")), vars(module))  # noqa: S102
        return module

    return execute


def test_a_for_loop_ends_after_the_round_in_which_it_was_cut(run):
    module = run("for number in range(90):\n    step(number)\n    after = number\nelse:\n    natural = True\n")
    assert module.calls == [0, 1, 2]
    assert module.after == 2, "the round itself is finished"
    assert module.natural, "and the loop has come to its own end"


def test_loops_inside_each_other_end_together_and_later_ones_run_whole(run):
    module = run(
        """
def train():
    for epoch in range(90):
        for batch in range(2):
            step((epoch, batch))
        ends.append(epoch)
ends = []
train()
later = [str(number) for number in range(5)]
"""
    )
    assert module.calls == [(0, 0), (0, 1), (1, 0)]
    assert module.ends == [0, 1], "what follows the inner loop runs"
    assert module.later == ["0", "1", "2", "3", "4"]


def test_an_endless_while_loop_ends_and_what_follows_it_runs(run):
    module = run("while True:\n    step()\nfollows = True\n")
    assert len(module.calls) == 3
    assert module.follows


def test_a_while_loop_that_runs_again_is_a_new_one(run):
    text = "def twice():\n    count = 0\n    while count < 2:\n        step()\n        count += 1\ntwice()\ntwice()\n"
    assert len(run(text, stop_at=9).calls) == 4


def test_a_loop_beside_the_training_is_left_alone(run):
    module = run(
        """
def batches():
    for number in range(100):
        yield str(number)
source = batches()
for number in range(10):
    item = next(source)
    step(item)
rest = next(source)
"""
    )
    assert module.calls == ["0", "1", "2"]
    assert module.rest == "3", "the generator was not around the step"


def test_a_comprehension_can_be_cut(run):
    module = run("done = [step(number) for number in range(50)]\n")
    assert module.calls == [0, 1, 2]


def test_what_can_take_no_step_is_not_touched(cut, tmp_path):
    text = "total = 0\nfor number in range(3):\n    total += number\nsquares = [n * n for n in range(3)]\n"
    code = cut.compiled(text, str(tmp_path / "train.py"))
    assert ROUNDS not in code.co_names


def test_lines_and_columns_stay(run):
    with pytest.raises(ValueError) as caught:
        run("for  number in   range(3):\n    step(number)\n    int(  'x')\n", stop_at=99)
    last = traceback.extract_tb(caught.tb)[-1]
    assert last.lineno == 3
    if sys.version_info >= (3, 11):
        assert (last.colno, last.end_colno) == (4, 14)


def test_what_is_looped_over_is_at_fault_at_its_own_place(run):
    with pytest.raises(TypeError) as caught:
        run("for number in 5:\n    step(number)\n")
    user = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename.endswith("train.py")]
    assert user[-1].lineno == 1
    assert not is_ours(caught.value)


def test_future_imports_and_docstrings_keep_their_place(run):
    module = run('"""What it is."""\nfrom __future__ import annotations\nfor n in range(1):\n    step(n)\n')
    assert module.__doc__ == "What it is."


@pytest.mark.parametrize("asked", ["next(source)", "source.__next__()"])
def test_next_is_ready_for_an_end_inside_a_try_that_catches_it(run, rounds, asked):
    ready = []

    class Source:
        def __iter__(self):
            return self

        def __next__(self):
            ready.append(rounds.asking.ready)
            raise StopIteration

    module = run(
        f"""
def look(source):
    try:
        {asked}
    except StopIteration:
        pass
    next(source, None)
    try:
        {asked}
    except ValueError:
        pass
"""
    )
    with pytest.raises(StopIteration):
        module.look(Source())
    assert ready == [True, True, False]
    assert rounds.asking is None


def test_being_late_leaves_the_script_at_the_next_head_once(run, rounds):
    rounds.late = True
    with pytest.raises(Stop):
        run("for number in range(3):\n    step(number)\n")
    assert not rounds.late
    assert run("for number in range(3):\n    step(number)\n", stop_at=9).calls == [0, 1, 2]


def test_imports_that_may_fail_are_known(cut, tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import os\ntry:\n    import apex\nexcept ImportError:\n    apex = None\nimport wandb\n")
    assert cut.may_fail(str(path), 3)
    assert not cut.may_fail(str(path), 6)
    assert not cut.may_fail(str(tmp_path / "absent.py"), 1)

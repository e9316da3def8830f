"""The training ends after the steps and epochs that a plan allows."""

import pytest

from ddpdoctor.harness.child.budget import MOST_PHASES, Budget
from ddpdoctor.harness.child.rounds import Rounds, Stop
from ddpdoctor.harness.plan import Plan


class Cuts:
    def __init__(self):
        self.said = []

    def cut(self, what, why):
        self.said.append((what, why))


@pytest.fixture
def rounds():
    return Rounds()


def budget(rounds, layers=("model", "probe"), steps=3, epochs=2):
    plan = Plan(script="/train.py", directory="/", style="single", layers=frozenset(layers), steps=steps, epochs=epochs)
    return Budget(plan, rounds, Cuts())


def trained(rounds, budget, optimizers, most=1000):
    """The steps that a loop takes before its budget ends it; each optimiser takes one a round."""
    taken = 0
    for _ in rounds.of(range(most)):
        taken += 1
        for optimizer in optimizers:
            budget.step_taken(optimizer)
    return taken


def test_without_a_loader_the_steps_of_all_epochs_are_taken(rounds):
    spending = budget(rounds)
    assert trained(rounds, spending, ["sgd"]) == 6
    assert spending.spent
    assert spending._recorder.said == [("the training loops", "ended after 6 optimiser steps")]


def test_two_optimisers_share_a_round(rounds):
    assert trained(rounds, budget(rounds), ["generator", "discriminator"]) == 6


def test_the_model_layer_alone_takes_one_step(rounds):
    spending = budget(rounds, layers=["model"])
    assert (spending.steps, spending.epochs) == (1, 1)
    assert trained(rounds, spending, ["sgd"]) == 1


def test_a_second_training_gets_the_steps_of_one_epoch(rounds):
    spending = budget(rounds)
    trained(rounds, spending, ["sgd"])
    assert trained(rounds, spending, ["sgd"]) == 3


def test_a_script_that_trains_on_and_on_is_left(rounds):
    spending = budget(rounds)
    with pytest.raises(Stop):
        for _ in range(MOST_PHASES + 1):
            trained(rounds, spending, ["sgd"])


def test_steps_outside_any_loop_leave_the_script(rounds):
    spending = budget(rounds)
    with pytest.raises(Stop):
        for _ in range(7):  # not rewritten: it stands in no file of the user's
            spending.step_taken("sgd")


def test_epochs_end_the_training_where_a_loader_is_read(rounds):
    spending = budget(rounds)
    seen = []
    for epoch in rounds.of(range(90)):
        reading = object()
        spending.epoch_begun(reading)
        for _ in rounds.of(range(5)):
            spending.step_taken("sgd")
        spending.epoch_ended(reading, "the loader", trained=True)
        seen.append(epoch)
    assert seen == [0, 1]
    assert spending.total_steps == 10


def test_epochs_without_steps_do_not_count(rounds):
    spending = budget(rounds)
    for _ in range(5):
        reading = object()
        spending.epoch_begun(reading)
        spending.epoch_ended(reading, "evaluation", trained=False)
    assert not spending.spent


@pytest.mark.parametrize(
    ("epochs_before", "completes", "expected"), [(0, True, False), (1, True, True), (1, False, False)]
)
def test_the_last_step_is_known_before_it_is_taken(rounds, epochs_before, completes, expected):
    spending = budget(rounds)
    for _ in range(epochs_before):
        spending.epoch_begun("before")
        spending.epoch_ended("before", "the loader", trained=True)
    spending.epoch_begun("now")
    assert spending.last_step_next(completes_epoch=completes) is expected


def test_a_script_that_lingers_is_late(rounds, monkeypatch):
    spending = budget(rounds)
    trained(rounds, spending, ["sgd"])
    spending.check_time()
    assert not rounds.late
    spending.spent_at -= 1000
    spending.check_time()
    assert rounds.late


def test_what_follows_a_cut_epoch_may_come_of_it(rounds):
    spending = budget(rounds)
    spending.epoch_begun("one")
    assert not spending.cut_short
    spending.epoch_ended("one", "loader", trained=True, cut=True)
    assert spending.cut_short, "its batches were counted, perhaps"
    spending.epoch_begun("two")
    assert not spending.cut_short
    spending.epoch_ended("two", "loader", trained=True, cut=False)
    assert not spending.cut_short


def test_a_loop_that_ends_by_itself_is_not_cut_short(rounds):
    for most, cut in ((6, False), (7, True)):
        spending = budget(rounds)
        trained(rounds, spending, ["sgd"], most)
        assert spending.spent and spending.cut_short is cut

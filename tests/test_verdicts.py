"""Verdicts: what a run shows of a predicted fault, joined by object and place."""

from pathlib import Path

import pytest
from reading import read

from ddpdoctor import registry
from ddpdoctor.asking import as_finding
from ddpdoctor.atom import Atom, Literal
from ddpdoctor.checkup import Configuration
from ddpdoctor.events import (
    Backward,
    Blocked,
    Collective,
    CudaTouched,
    Cut,
    DeviceSelected,
    DeviceUsed,
    Ended,
    EnvSet,
    EpochBegun,
    EpochEnded,
    FileUsed,
    Forward,
    GradientsSeen,
    GroupDestroyed,
    GroupInit,
    LoaderBuilt,
    ModelWrapped,
    Norm,
    OptimizerStep,
    ParameterSeen,
    ProcessJoined,
    ProcessStarted,
    Raised,
    SyncBatchNormConverted,
    Trial,
)
from ddpdoctor.finding import Fault, Severity, State
from ddpdoctor.layer import CHECKED
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import NONE, Constant, Either, Group, Ref
from ddpdoctor.verdicts import judged

TRAIN = "/project/train.py"


def at(line, file=TRAIN):
    return Place(file, line)


def ref(line, *calls, n=0, type_="torch.utils.data.DataLoader"):
    return Ref(type=type_, place=at(line), stack=tuple(at(call) for call in calls), n=n)


def observed(*events):
    return Observed(events, ranks=(0, 1), redirected=True, layers=frozenset({"model", "probe"}))


def judge(check, fault, *events):
    return registry.load(check).judge(fault, observed(*events))


def fault(line, about=None, **more):
    return Fault(place=Place(TRAIN, line, 1, line, 80), message="it is wrong", about=about, **more)


def epochs(loader, *orders, rank=0):
    """The epochs of a loader on a rank, each with the samples it drew, and a step taken in each."""
    found = []
    for number, order in enumerate(orders, 1):
        common = {"place": at(30), "loader": loader, "number": number, "rank": rank}
        found += [EpochBegun(**common, indices=order), EpochEnded(**common, steps=1)]
    return found


def test_of_two_loaders_of_one_factory_only_the_faulty_one_is_confirmed():
    faulty, right = ref(10, 20), ref(10, 21)
    seen = [*epochs(faulty, (3, 1, 2), (3, 1, 2)), *epochs(right, (3, 1, 2), (1, 2, 3))]
    assert judge("missing-set-epoch", fault(30, faulty), *seen).state is State.CONFIRMED
    assert judge("missing-set-epoch", fault(30, right), *seen).state is State.REFUTED


def test_of_two_loaders_made_in_a_loop_the_right_one_is_judged():
    first, second = ref(10, n=0), ref(10, n=1)
    seen = [*epochs(first, (1, 2), (2, 1)), *epochs(second, (1, 2), (1, 2))]
    assert judge("missing-set-epoch", fault(30, first), *seen).state is State.REFUTED
    assert judge("missing-set-epoch", fault(30, second), *seen).state is State.CONFIRMED


@pytest.mark.parametrize(
    ("orders", "state"),
    [
        ([(0, 1, 2)], State.NOT_REACHED),
        ([(0,), (0,)], State.NOT_REACHED),
        ([None, None], State.NOT_REACHED),
        ([], State.NOT_REACHED),
        ([(0, 1, 2), (0, 1, 2)], State.CONFIRMED),
        ([(0, 1, 2), (2, 1, 0)], State.REFUTED),
    ],
)
def test_missing_set_epoch_compares_two_epochs(orders, state):
    loader = ref(10)
    assert judge("missing-set-epoch", fault(30, loader), *epochs(loader, *orders)).state is state


def test_an_epoch_without_optimiser_steps_is_no_epoch_of_training():
    loader = ref(10)
    idle = [event for event in epochs(loader, (1, 2), (1, 2)) if isinstance(event, EpochBegun)]
    assert judge("missing-set-epoch", fault(30, loader), *idle).state is State.NOT_REACHED


@pytest.mark.parametrize(
    ("other", "state", "shared"),
    [
        ((0, 1, 2, 3), State.CONFIRMED, 4),
        ((3, 2, 1, 9), State.CONFIRMED, 3),
        ((4, 5, 6, 7), State.REFUTED, 0),
        ((3, 4, 5, 6), State.NOT_REACHED, 1),
    ],
)
def test_unsharded_loader_compares_the_ranks_samples(other, state, shared):
    loader = ref(10)
    seen = [*epochs(loader, (0, 1, 2, 3)), *epochs(loader, other, rank=1)]
    verdict = judge("unsharded-loader", fault(10, loader), *seen)
    assert verdict.state is state and verdict.evidence["shared"] == shared


def test_equal_indices_into_different_data_are_not_the_same_samples():
    loader = ref(10)
    seen = [*epochs(loader, (0, 1, 2, 3)), *epochs(loader, (0, 1, 2, 3), rank=1)]
    with_data = [
        event.with_(data=f"file of rank {event.rank}") if isinstance(event, EpochBegun) else event for event in seen
    ]
    verdict = judge("unsharded-loader", fault(10, loader), *with_data)
    assert verdict.state is State.NOT_REACHED and "different data" in verdict.reason


@pytest.mark.parametrize(
    ("order", "inputs", "state"),
    [
        ((0, 1, 2, 3), ("a", "b"), State.NOT_REACHED),
        ((0, 1, 2, 3), ("a", "a"), State.CONFIRMED),
        ((0, 1, 2, 3), ("a", None), State.CONFIRMED),
        ((3, 2, 1, 0), ("a", "b"), State.CONFIRMED),
    ],
)
def test_equal_batches_may_be_divided_after_the_loader(order, inputs, state):
    loader = ref(10)
    seen = [*epochs(loader, (0, 1, 2, 3)), *epochs(loader, order, rank=1)]
    got = [
        Forward(place=at(31), rank=rank, order=1, model=NONE, via="wrapper", training=True, inputs=given)
        for rank, given in enumerate(inputs)
    ]
    assert judge("unsharded-loader", fault(10, loader), *seen, *got).state is state


@pytest.mark.parametrize(
    ("first", "second", "state"),
    [
        ("ab", "ab", State.CONFIRMED),
        ("ab", "ba", State.REFUTED),
        ("ab", "ac", State.REFUTED),
        ("", "", State.NOT_REACHED),
        ([None], [None], State.NOT_REACHED),
    ],
)
def test_batches_that_are_taken_by_hand_are_compared_where_the_models_get_them(first, second, state):
    built = LoaderBuilt(place=at(10), loader=ref(10), by_hand="in order")
    got = [
        Forward(place=at(31), rank=rank, order=order, model=NONE, via="wrapper", training=True, inputs=inputs)
        for rank, given in enumerate((first, second))
        for order, inputs in enumerate(given)
    ]
    assert judge("unsharded-loader", fault(10, ref(10), event=built), *got).state is state


def test_one_sample_is_no_share_of_the_data():
    loader = ref(10)
    seen = [*epochs(loader, (0,)), *epochs(loader, (0,), rank=1)]
    assert judge("unsharded-loader", fault(10, loader), *seen).state is State.NOT_REACHED


def test_unsharded_loader_is_not_judged_by_a_loader_that_does_not_train():
    loader = ref(10)
    seen = [event for event in epochs(loader, (0, 1)) if isinstance(event, EpochBegun)]
    assert judge("unsharded-loader", fault(10, loader), *seen).state is State.NOT_REACHED


def test_shuffle_with_sampler_is_confirmed_by_the_constructors_exception():
    loader = ref(10)
    built = LoaderBuilt(place=at(10), loader=loader, sampler=ref(9), shuffle=Constant(value=True), rank=0)
    raised = Raised(
        place=at(10), rank=0, type="ValueError", message="sampler option is mutually exclusive with shuffle"
    )
    verdict = judge("shuffle-with-sampler", fault(10, loader), built, raised)
    assert verdict.state is State.CONFIRMED and raised in verdict.explains
    assert judge("shuffle-with-sampler", fault(10, loader), built).state is State.NOT_REACHED
    without = built.with_(sampler=NONE)
    assert judge("shuffle-with-sampler", fault(10, loader), without).state is State.REFUTED
    assert judge("shuffle-with-sampler", fault(10, loader)).state is State.NOT_REACHED


def ended(how="natural", **more):
    return [Ended(place=at(1), rank=rank, how=how, **more) for rank in (0, 1)]


@pytest.mark.parametrize(
    ("destroyed", "how", "state"),
    [
        ((), "natural", State.CONFIRMED),
        ((0,), "natural", State.CONFIRMED),
        ((0, 1), "natural", State.REFUTED),
        ((), "exception", State.NOT_REACHED),
        ((), "cut", State.NOT_REACHED),
    ],
)
def test_a_group_counts_as_left_open_only_at_a_natural_end(destroyed, how, state):
    begun = [GroupInit(place=at(5), rank=rank) for rank in (0, 1)]
    gone = [GroupDestroyed(place=at(40), rank=rank) for rank in destroyed]
    verdict = judge("process-group-not-destroyed", fault(5), *begun, *gone, *ended(how))
    assert verdict.state is state
    if state is State.CONFIRMED:
        assert verdict.evidence["ranks"] == [rank for rank in (0, 1) if rank not in destroyed]


@pytest.mark.parametrize(
    ("trials", "state"),
    [
        ([], State.NOT_REACHED),
        ([{"destroyed": False, "finished": True}], State.CONFIRMED),
        ([{"destroyed": True, "finished": True}], State.REFUTED),
        ([{"destroyed": False, "finished": False}], State.NOT_REACHED),
    ],
)
def test_unprotected_destroy_goes_by_the_exception_that_was_tried(trials, state):
    seen = [Trial(place=at(33), rank=0, what="exception-at-step", **one) for one in trials]
    assert judge("unprotected-destroy", fault(40), *seen).state is state


def test_unprotected_destroy_says_why_no_exception_was_tried():
    step = OptimizerStep(place=at(9), rank=0)
    cut = Cut(place=at(9), what="what an exception would lead to", why="the script catches it and goes on")
    assert judge("unprotected-destroy", fault(50)).reason.endswith("the run came to no optimizer step")
    assert "rank 0 ended after 1" in judge("unprotected-destroy", fault(50), step).reason
    assert judge("unprotected-destroy", fault(50), step, cut).reason.endswith("the script catches it and goes on")


def test_no_device_selected_asks_each_rank():
    use = [DeviceUsed(place=at(12), rank=rank, index=None, by="module.cuda", time=2.0) for rank in (0, 1)]
    chosen = [
        DeviceSelected(place=at(8), rank=rank, index=Constant(value=rank), how="set_device", time=1.0)
        for rank in (0, 1)
    ]
    assert judge("no-device-selected", fault(12), *use).state is State.CONFIRMED
    assert judge("no-device-selected", fault(12), *chosen, *use).state is State.REFUTED
    half = judge("no-device-selected", fault(12), chosen[0], *use)
    assert half.state is State.CONFIRMED and half.evidence["current_device"] == {1: 0}
    assert judge("no-device-selected", fault(12), *chosen).state is State.NOT_REACHED


def test_late_visible_devices_goes_by_the_order_in_one_process():
    written = EnvSet(place=at(9), rank=0, name="CUDA_VISIBLE_DEVICES", value=Constant(value="0"), time=2.0)
    before = CudaTouched(place=at(8), rank=0, by="torch.cuda.is_available", time=1.0)
    assert judge("late-visible-devices", fault(9), before, written).state is State.CONFIRMED
    assert judge("late-visible-devices", fault(9), before.with_(time=3.0), written).state is State.REFUTED
    assert judge("late-visible-devices", fault(9), before.with_(rank=1), written).state is State.REFUTED
    assert judge("late-visible-devices", fault(9), before).state is State.NOT_REACHED


def test_unjoined_spawn_goes_by_what_the_script_left_running():
    started = ref(50, type_="torch.multiprocessing.spawn")
    start = ProcessStarted(place=at(50), started=started, method="spawn", target="worker", child="child 0")
    end = Ended(place=at(52), how="natural", alive=2)
    predicted = fault(50, started)
    assert judge("unjoined-spawn", predicted, start, end).state is State.CONFIRMED
    assert (
        judge("unjoined-spawn", predicted, start, ProcessJoined(place=at(51), started=started), end).state
        is State.REFUTED
    )
    assert judge("unjoined-spawn", predicted, start).state is State.NOT_REACHED
    over = Ended(place=at(52), how="natural", alive=0)
    assert judge("unjoined-spawn", predicted, start, over).state is State.NOT_REACHED
    assert judge("unjoined-spawn", predicted, end).state is State.NOT_REACHED


def test_only_certain_daemons_are_killed_with_their_parent():
    no, asked = Constant(value=False), frozenset({Literal(Atom("args.daemon"), True)})
    option = Either(options=((asked, Constant(value=True)), (frozenset(), no)))
    started = {"place": at(50), "method": "spawn", "target": "worker", "child": "child 0", "join": no}
    for daemon, severity in ((option, None), (no, None), (Constant(value=True), Severity.ERROR)):
        event = ProcessStarted(**started, started=ref(50, type_="torch.multiprocessing.spawn"), daemon=daemon)
        (found,) = registry.load("unjoined-spawn").predict(Predicted([event]))
        assert found.severity is severity


def wrapped(*norms, line=15, rank=0, stack=()):
    model = ref(line, *stack, type_="Net")
    place = {"place": at(line), "stack": tuple(at(call) for call in stack)}
    return ModelWrapped(**place, rank=rank, wrapper=model, model=model, how="DDP", options={}, norms=norms)


def test_unconverted_batchnorm_looks_at_the_model_that_was_wrapped():
    norm = Norm("body.1", "torch.nn.BatchNorm2d", None, True, 64)
    predicted = fault(15, ref(15, type_="Net"))
    verdict = judge("unconverted-batchnorm", predicted, wrapped(norm))
    assert verdict.state is State.CONFIRMED and verdict.evidence["layers"] == ["body.1"]
    assert judge("unconverted-batchnorm", predicted, wrapped()).state is State.REFUTED
    assert judge("unconverted-batchnorm", predicted, wrapped(norm._replace(trained=False))).state is State.REFUTED
    assert judge("unconverted-batchnorm", predicted, wrapped(norm, line=16)).state is State.NOT_REACHED


def test_sync_batchnorm_after_ddp_goes_by_what_was_converted():
    late = SyncBatchNormConverted(place=at(16), rank=0, model=NONE, wrapped=True)
    assert judge("sync-batchnorm-after-ddp", fault(16), late).state is State.CONFIRMED
    assert judge("sync-batchnorm-after-ddp", fault(16), late.with_(wrapped=False)).state is State.REFUTED
    assert judge("sync-batchnorm-after-ddp", fault(16)).state is State.NOT_REACHED


def test_a_bypass_is_confirmed_by_gradients_that_nothing_averaged():
    from ddpdoctor.finding import Label

    predicted = fault(20, places=(Label(place=Place(TRAIN, 22, 1, 22, 40), text="the backward"),))
    forward = Forward(place=at(20), rank=0, model=NONE, via="module")
    backward = Backward(place=at(22), rank=0, reduced=False, bypassed=(ref(15),))
    verdict = judge("bypassed-ddp-forward", predicted, forward, backward)
    assert verdict.state is State.CONFIRMED and verdict.evidence["ranks"] == [0]
    averaged = backward.with_(reduced=True, bypassed=())
    assert judge("bypassed-ddp-forward", predicted, forward, averaged).state is State.REFUTED
    assert judge("bypassed-ddp-forward", predicted, forward).state is State.NOT_REACHED
    elsewhere = backward.with_(place=at(30))
    assert judge("bypassed-ddp-forward", predicted, forward, elsewhere).state is State.NOT_REACHED
    through = forward.with_(via="wrapper")
    assert judge("bypassed-ddp-forward", predicted, through, averaged).state is State.NOT_REACHED


@pytest.mark.parametrize(
    ("line", "shape", "state"),
    [
        (23, (4, 1), State.NOT_REACHED),
        (23, (), State.CONFIRMED),  # a loss that is logged
        (22, (4, 1), State.NOT_REACHED),  # in a hook, while the backward runs
        (25, (4, 1), State.CONFIRMED),  # after the step
    ],
)
def test_gradients_that_the_script_may_have_averaged_itself_are_no_bypass(line, shape, state):
    from ddpdoctor.finding import Label

    predicted = fault(20, places=(Label(place=Place(TRAIN, 22, 1, 22, 40), text="the backward"),))
    forward = Forward(place=at(20), rank=0, model=NONE, via="module")
    backward = Backward(place=at(22), rank=0, reduced=False, bypassed=(ref(15),))
    step = OptimizerStep(place=at(24), rank=0)
    reduced = Collective(place=at(line), stack=(at(line),), rank=0, op="all_reduce", shapes=(shape,))
    seen = {22: (reduced, backward, step), 23: (backward, reduced, step), 25: (backward, step, reduced)}[line]
    assert judge("bypassed-ddp-forward", predicted, forward, *seen).state is state


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("rank", State.REFUTED),
        ("configuration", State.REFUTED),
        ("other", State.NOT_REACHED),
        ("data", State.NOT_REACHED),
    ],
)
def test_a_rank_that_may_write_later_refutes_nothing(kind, state):
    test = Literal(Atom("val < best", kind), True)
    either = Literal(Atom("val < best or last", "any", definition=frozenset({frozenset({test})})), True)
    written = FileUsed(place=at(44), rank=0, op="save", path=Constant(value="best.pt"), by="torch.save")
    for literal in (test, either):
        event = FileUsed(place=at(44), op="save", path=NONE, by="torch.save", when=frozenset({literal}))
        verdict = judge("save-on-every-rank", fault(44, event=event), written, *ended())
        assert verdict.state is state


def test_a_group_that_is_initialised_again_counts_as_open():
    rounds = [
        kind(place=at(line), rank=rank)
        for rank in (0, 1)
        for kind, line in ((GroupInit, 5), (GroupDestroyed, 6), (GroupInit, 7))
    ]
    closed = [GroupDestroyed(place=at(8), rank=rank) for rank in (0, 1)]
    judged = judge("process-group-not-destroyed", fault(5), *rounds, *ended())
    assert judged.state is State.CONFIRMED and judged.evidence["ranks"] == [0, 1]
    assert judge("process-group-not-destroyed", fault(5), *rounds, *closed, *ended()).state is State.REFUTED


@pytest.mark.parametrize(
    ("paths", "state"),
    [
        ({0: "a.pt", 1: "a.pt"}, State.CONFIRMED),
        ({0: "a.pt"}, State.REFUTED),
        ({0: "0.pt", 1: "1.pt"}, State.REFUTED),
        ({}, State.NOT_REACHED),
    ],
)
def test_save_on_every_rank_compares_the_paths(paths, state):
    saves = [
        FileUsed(place=at(44), rank=rank, op="save", path=Constant(value=path), by="torch.save")
        for rank, path in paths.items()
    ]
    assert judge("save-on-every-rank", fault(44), *saves, *ended()).state is state


@pytest.mark.parametrize(
    ("how", "state"),
    [
        ({"how": "natural"}, State.REFUTED),
        ({"how": "exit", "status": 0}, State.REFUTED),
        ({"how": "exit", "status": 1}, State.NOT_REACHED),
        ({"how": "exception", "status": 1}, State.NOT_REACHED),
        ({"how": "cut"}, State.NOT_REACHED),
    ],
)
def test_a_rank_that_could_not_come_to_the_save_refutes_nothing(how, state):
    save = FileUsed(place=at(44), rank=0, op="save", path=Constant(value="a.pt"), by="torch.save")
    assert judge("save-on-every-rank", fault(44), save, Ended(place=at(30), rank=1, **how)).state is state


def test_a_collective_of_some_ranks_is_confirmed_by_who_waits_where():
    alone = Collective(place=at(18), rank=0, op="barrier")
    other = Collective(place=at(25), rank=1, op="all_reduce")
    stopped = [
        Blocked(place=at(18), rank=0, inside=alone, seconds=3.0),
        Blocked(place=at(25), rank=1, inside=other, seconds=3.0),
    ]
    verdict = judge("rank-conditional-collective", fault(18), alone, other, *stopped)
    assert verdict.state is State.CONFIRMED
    assert verdict.evidence["rank 0"] == at(18) and verdict.evidence["rank 1"] == at(25)
    assert set(stopped) <= set(verdict.explains)
    everyone = [alone, alone.with_(rank=1)]
    assert judge("rank-conditional-collective", fault(18), *everyone).state is State.REFUTED
    assert judge("rank-conditional-collective", fault(18), other).state is State.NOT_REACHED


def test_a_rank_that_failed_before_a_collective_confirms_nothing():
    alone = Collective(place=at(18), rank=0, op="barrier")
    waits = Blocked(place=at(18), rank=0, inside=alone, seconds=3.0)
    failed = [Raised(place=at(12), rank=1, type="ValueError", message="x"), ended("exception", status=1)[1]]
    verdict = judge("rank-conditional-collective", fault(18), alone, waits, *failed)
    assert verdict.state is State.NOT_REACHED and "rank 1 raised ValueError" in verdict.reason
    assert not verdict.explains
    computing = Blocked(place=at(12), rank=1, busy=True)
    assert judge("rank-conditional-collective", fault(18), alone, waits, computing).state is State.NOT_REACHED
    assert judge("rank-conditional-collective", fault(18), alone, waits, ended()[1]).state is State.CONFIRMED


def test_a_collective_that_met_another_is_confirmed_whatever_became_of_the_ranks():
    common = [Collective(place=at(10), rank=rank, op="broadcast") for rank in (0, 1)]
    alone = Collective(place=at(18), rank=0, op="barrier")
    other = Collective(place=at(25), rank=1, op="all_reduce")
    aborted = Raised(place=at(25), rank=1, type="RuntimeError", message="sizes", caused_by_peer=True)
    verdict = judge("rank-conditional-collective", fault(18), *common, alone, other, aborted)
    assert verdict.state is State.CONFIRMED and aborted in verdict.explains


def test_a_collective_that_one_rank_calls_more_often_is_not_refuted():
    twice = [Collective(place=at(18), rank=0, op="all_reduce", time=time) for time in (1.0, 2.0)]
    once = Collective(place=at(18), rank=1, op="all_reduce", time=1.0)
    assert judge("rank-conditional-collective", fault(18), *twice, once).state is State.NOT_REACHED
    verdict = judge("rank-conditional-collective", fault(18), *twice, once, ended()[1])
    assert verdict.state is State.CONFIRMED and verdict.evidence["times"] == [2, 1]


def test_a_collective_that_the_other_ranks_of_a_run_met_in_another_arm_is_not_confirmed():
    here, there = Collective(place=at(18), rank=0, op="barrier"), Collective(place=at(20), rank=1, op="barrier")
    assert judge("rank-conditional-collective", fault(18), here, there, *ended()).state is State.NOT_REACHED
    other = there.with_(op="all_reduce")
    assert judge("rank-conditional-collective", fault(18), here, other, *ended()).state is State.CONFIRMED


def faults(check, *events):
    return list(registry.load(check).observe(observed(*events)))


def test_a_hang_stands_where_the_ranks_went_apart():
    common = [Collective(place=at(10), rank=rank, op="broadcast", sequence=0) for rank in (0, 1)]
    lone = Collective(place=at(18), rank=0, op="barrier", sequence=1)
    other = Collective(place=at(25), rank=1, op="all_reduce", origin="reducer", sequence=1)
    stopped = [
        Blocked(place=at(18), rank=0, inside=lone, seconds=3.2, for_ever=True),
        Blocked(place=at(25), rank=1, inside=other, seconds=3.1, for_ever=True),
    ]
    (found,) = faults("hang", *common, lone, other, *stopped)
    assert found.place == at(18) and "rank 1 waits in all_reduce" in found.message
    assert found.verdict.state is State.CONFIRMED
    assert found.verdict.reason == "barrier and all_reduce meet in one group, and neither can complete"


def test_a_hang_names_the_rank_that_has_ended():
    lone = Collective(place=at(18), rank=0, op="barrier", sequence=0)
    stopped = Blocked(place=at(18), rank=0, inside=lone, seconds=3.2, for_ever=True)
    (found,) = faults("hang", lone, stopped, Ended(place=at(60), rank=1, how="natural"))
    assert "rank 1 has ended" in found.message
    assert found.verdict.reason == "rank 1 ended without calling it"
    assert found.verdict.evidence["rank 1"] == "ended at the end of the script"


def group(name, *ranks, n=0):
    return Group(type="torch.distributed.ProcessGroup", place=at(3), n=n, name=name, ranks=ranks)


def stops(*collectives):
    return [
        Blocked(place=event.place, rank=event.rank, inside=event, seconds=6.0, time=9.0, for_ever=True)
        for event in collectives
    ]


def test_what_only_some_ranks_do_by_right_is_not_where_they_went_apart():
    """A send and its recv, and a group of one rank alone, before an all_reduce that meets a barrier."""
    lone = Collective(place=at(10), rank=0, order=3, op="all_reduce", time=3.0)
    other = Collective(place=at(20), rank=1, order=2, op="barrier", time=3.0)
    by_right = [
        Collective(place=at(5), rank=0, order=1, op="send", time=1.0),
        Collective(place=at(6), rank=1, order=1, op="recv", time=1.0),
        Collective(place=at(7), rank=0, order=2, op="all_reduce", group=group("1", 0), time=2.0),
    ]
    (found,) = faults("hang", *by_right, lone, other, *stops(lone, other))
    assert found.message == f"rank 0 waits in all_reduce here; rank 1 waits in barrier at {TRAIN}:20"
    assert found.place == at(10)


def test_gathers_of_other_shapes_are_not_where_the_ranks_went_apart():
    gathers = [Collective(place=at(5), rank=rank, order=1, op="all_gather", shapes=((rank,),)) for rank in (0, 1)]
    lone = Collective(place=at(10), rank=1, order=2, op="all_reduce", time=3.0)
    (found,) = faults("hang", *gathers, lone, *stops(lone), Ended(place=at(60), rank=0, how="natural"))
    assert (found.place, found.message) == (at(10), "rank 1 waits in all_reduce here; rank 0 has ended")


def test_a_hang_names_the_group_by_its_number_on_every_rank():
    """Two groups of the same ranks from one line, each with a rank in it."""
    first = Collective(place=at(10), rank=0, order=1, op="all_reduce", group=group("1", 0, 1), time=3.0)
    second = Collective(place=at(10), rank=1, order=1, op="all_reduce", group=group("2", 0, 1, n=1), time=3.1)
    (found,) = faults("hang", first, second, *stops(first, second))
    assert found.message == (
        "rank 0 waits in all_reduce of group 0 (made in line 3) here; "
        f"rank 1 waits in all_reduce of group 1 (made in line 3) at {TRAIN}:10"
    )


def test_a_hang_names_the_test_that_sent_the_ranks_apart(tmp_path):
    program = read(
        tmp_path,
        """\
        dist.init_process_group("gloo")
        model = DDP(nn.Linear(4, 1))
        for batch in DataLoader(data, sampler=DistributedSampler(data)):
            loss = model(batch).mean()
            if loss.item() > 2:
                dist.all_reduce(loss)
            dist.barrier()
        """,
        head="from torch import distributed as dist, nn\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "from torch.utils.data import DataLoader, DistributedSampler\n",
    )
    path = str(tmp_path / "train.py")
    lone = Collective(place=at(9, path), rank=0, order=1, op="all_reduce", time=3.0)
    other = Collective(place=at(10, path), rank=1, order=1, op="barrier", time=3.0)
    run = observed(lone, other, *stops(lone, other)).changed(predicted=(program,))
    (found,) = registry.load("hang").observe(run)
    assert [(label.place.line, label.text) for label in found.places] == [
        (10, "rank 1 waits in barrier"),
        (8, "rank 0 went on from this test to line 9: its own data decided"),
    ]


def test_ranks_that_wait_for_ranks_that_were_not_started_have_not_gone_apart():
    meeting = Collective(place=at(18), rank=0, op="init_process_group")
    stopped = Blocked(place=at(18), rank=0, inside=meeting, seconds=3.2, for_ever=True)
    for size, found in ((4, 0), (2, 1)):
        joins = GroupInit(place=at(18), rank=0, world_size=Constant(value=size))
        assert len(faults("hang", joins, meeting, stopped)) == found


def test_a_failed_rank_explains_that_the_others_wait():
    lone = Collective(place=at(18), rank=0, op="all_reduce")
    stopped = Blocked(place=at(18), rank=0, inside=lone, seconds=2.0, for_ever=True)
    raised = Raised(place=at(21), rank=1, type="KeyError", message="'x'")
    assert not faults("hang", lone, stopped, raised)
    (found,) = faults("rank-failure", lone, stopped, raised, wrapped())
    assert found.place == at(21) and "rank 1 raised KeyError" in found.message


def test_the_first_cause_is_reported_and_its_echoes_are_not():
    first = Raised(place=at(21), rank=1, type="KeyError", message="'x'", time=1.0)
    echo = Raised(
        place=at(22), rank=0, type="RuntimeError", message="Connection closed by peer", caused_by_peer=True, time=1.5
    )
    (found,) = faults("rank-failure", echo, first, wrapped())
    assert found.place == at(21)


@pytest.mark.parametrize("field", [{"ours": True}, {"after_cut": True}])
def test_what_is_not_the_scripts_own_failure_is_not_reported(field):
    assert not faults("rank-failure", Raised(place=at(21), rank=0, type="E", message="m", **field), wrapped())


@pytest.mark.parametrize(("how", "found"), [("natural", 1), ("exit", 1), ("killed", 0), ("cut", 0)])
def test_a_failure_after_the_cut_is_one_where_rank_0_went_on(how, found):
    raised = [Raised(place=at(21), rank=rank, type="E", message="m", after_cut=True, time=1.0) for rank in (1, 0)]
    assert len(faults("rank-failure", raised[0], wrapped(), Ended(place=at(60), rank=0, how=how))) == found
    assert not faults("rank-failure", *raised, wrapped(), *ended("exception"))


def test_a_rank_that_waited_when_time_was_up_is_no_hang():
    lone = Collective(place=at(18), rank=0, op="barrier")
    stopped = [Blocked(place=at(18), rank=0, inside=lone, seconds=99.0), Blocked(place=at(9), rank=1, seconds=99.0)]
    assert not faults("hang", lone, *stopped)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"type": "SystemExit", "message": "loss is nan", "status": 1}, "ended with status 1 by sys.exit: loss is nan"),
        ({"type": "os._exit", "message": "", "status": 5}, "ended with status 5 by os._exit"),
        ({"type": "exit", "message": "", "status": 7}, "ended with status 7"),
    ],
)
def test_a_rank_that_leaves_with_a_status_has_failed(fields, said):
    (found,) = faults("rank-failure", Raised(place=at(21), rank=1, **fields), wrapped())
    assert (found.place, found.message) == (at(21), f"rank 1 {said}")


def test_what_a_script_lacks_to_begin_with_is_no_failure_of_a_rank():
    raised = Raised(place=at(21), rank=1, type="FileNotFoundError", message="part.pt", missing="part.pt")
    assert not faults("rank-failure", raised, wrapped())
    (found,) = faults("rank-failure", raised, wrapped(), wrapped().with_(rank=1))
    assert found.message == "rank 1 raised FileNotFoundError: part.pt"


def test_exceptions_that_only_tell_of_each_other_are_told_when_no_rank_came_to_another_end():
    echoes = [
        Raised(place=at(20 + rank), rank=rank, type="RuntimeError", message="m", caused_by_peer=True, time=2.0 - rank)
        for rank in (0, 1)
    ]
    (found,) = faults("rank-failure", *echoes, *ended("exception"), wrapped())
    assert found.place == at(21), "the earliest"
    (echo, _), ends = echoes, ended("exception")
    assert not faults("rank-failure", echo, *ends, wrapped()), "rank 1's exception is another finding's evidence"
    for how in ("exit", "killed"):
        assert not faults("rank-failure", echo, ends[0], ended(how)[1], wrapped())
    lone = Collective(place=at(18), rank=1, op="all_reduce")
    waits = Blocked(place=at(18), rank=1, inside=lone, seconds=2.0, for_ever=True)
    assert not faults("rank-failure", echo, waits, ends[0], ended("natural")[1], wrapped())


def row(name="conv.weight", shape=(8, 4, 1, 1), **fields):
    plain = {
        "dtype": "float32",
        "strides": (4, 1, 1, 1),
        "dense": True,
        "raw": (4, 1, 1, 1),
        "grad": (4, 1, 1, 1),
        "view": (4, 1, 1, 1),
        "copied": False,
        "warned": False,
        "bytes": 128,
    }
    return ParameterSeen(name=name, shape=shape, **{**plain, **fields})


def seen(*rows, step=1):
    return GradientsSeen(place=at(33), rank=0, wrapper=wrapped().wrapper, step=step, parameters=rows)


def test_a_mismatch_in_dimensions_of_size_1_is_nominal():
    (found,) = faults("grad-stride-mismatch", wrapped(), seen(row(grad=(4, 1, 4, 4), warned=True)))
    assert found.severity.value == "note" and "nominal" in found.message
    assert found.verdict.evidence["pytorch_warned"] == 1


def test_a_mismatch_in_larger_dimensions_is_real():
    shape = (8, 4, 3, 3)
    rows = row(shape=shape, grad=(36, 1, 12, 4), view=(36, 9, 3, 1), strides=(36, 9, 3, 1))
    (found,) = faults(
        "grad-stride-mismatch",
        wrapped(),
        seen(rows),
        seen(row(shape=shape, grad=(36, 9, 3, 1), view=(36, 9, 3, 1)), step=2),
    )
    assert found.severity.value == "warning" and "real" in found.message
    assert "none in backward 2" in found.verdict.reason


def test_matching_strides_say_nothing():
    assert not faults("grad-stride-mismatch", wrapped(), seen(row()))
    assert not faults("silent-gradient-copy", wrapped(), seen(row()))


@pytest.mark.parametrize(
    ("size", "others", "severity", "words"),
    [
        (36_000_000, 0, "warning", "36 MB, 100% of all"),
        (36_000_000, 20, None, "36 MB, 5% of all"),
        (128, 0, None, "128 bytes, 100% of all"),
        (36_864, 0, None, "36.9 kB, 100% of all"),
    ],
)
def test_silent_copies_are_weighed_by_their_share_and_their_bytes(size, others, severity, words):
    rest = [row(name=f"p{i}", bytes=size) for i in range(others)]
    (found,) = faults("silent-gradient-copy", wrapped(), seen(row(copied=True, raw=(4, 1, 4, 4), bytes=size), *rest))
    assert (found.severity.value if found.severity else None) == severity
    assert found.verdict.evidence["bytes_a_step"] == size and words in found.message


def test_a_dense_parameter_is_harmless_and_one_with_gaps_is_not():
    dense = row(name="a", shape=(3, 5), strides=(1, 3))
    gapped = row(name="b", shape=(3, 5), strides=(10, 2), dense=False)
    first, second = faults("non-contiguous-parameter", wrapped(), seen(dense, gapped))
    assert first.subject == "a" and "harmless" in first.message
    assert second.subject == "b" and "gaps" in second.message


def test_the_whole_way_from_a_program_to_a_confirmed_finding(tmp_path: Path):
    program = read(
        tmp_path,
        """
        def make(data, sampler=None):
            return DataLoader(data, sampler=sampler)

        dist.init_process_group("nccl")
        model = DDP(nn.Linear(1, 1))
        sampler = DistributedSampler([1, 2])
        good, bad = make([1, 2], sampler), make([1, 2])
        for epoch in range(3):
            sampler.set_epoch(epoch)
            for x in good:
                model(x).backward()
            for x in bad:
                model(x).backward()
        """,
    )
    (found,) = registry.load("unsharded-loader").predict(program)
    loaders = {event.loader.stack[0].column: event.loader for event in program.of(LoaderBuilt)}
    assert found.about == loaders[max(loaders)]


# --- what no judge decides --------------------------------------------------------------------------------------------


def verdicts_of(*events, severity=Severity.ERROR, line=18):
    """Return the findings of a run, given one of a check without a judge."""
    found = as_finding(registry.load("rank0-ddp-forward"), fault(line).with_(severity=severity), "source")
    layers = dict.fromkeys(("source", "model", "probe"), CHECKED)
    return judged([found], observed(*events) if events else None, layers, Configuration(), [])


def hangs(line):
    """Return what a run shows of rank 0 that waits at a line for rank 1, which has ended."""
    alone = Collective(place=at(line), rank=0, op="broadcast")
    return alone, Blocked(place=at(line), rank=0, inside=alone, seconds=3.2, for_ever=True), ended()[1]


@pytest.mark.parametrize("events", [(), ended()])
def test_of_a_check_without_a_judge_the_run_is_said_to_decide_nothing(events):
    (finding,) = verdicts_of(*events)
    assert finding.verdict.state is State.NOT_DECIDED


@pytest.mark.parametrize("severity", [Severity.ERROR, Severity.NOTE])
def test_a_hang_where_the_source_predicts_a_wait_confirms_it_and_is_no_second_finding(severity):
    (finding,) = verdicts_of(*hangs(18), severity=severity)
    assert (finding.check, finding.severity) == ("rank0-ddp-forward", Severity.ERROR)
    assert finding.verdict.state is State.CONFIRMED
    assert finding.verdict.reason == "the run hung here: rank 1 ended without calling it"
    assert finding.verdict.evidence["rank 0"] == at(18)


def test_a_hang_elsewhere_is_a_finding_of_its_own():
    first, second = verdicts_of(*hangs(30))
    assert (first.verdict.state, second.check) == (State.NOT_DECIDED, "hang")


def test_the_ranks_that_left_the_group_open_are_named_with_what_is_theirs():
    begun = [GroupInit(place=at(5), rank=rank, backend="gloo") for rank in (0, 1)]
    both = judge("process-group-not-destroyed", fault(5), *begun, *ended())
    assert both.reason == "ranks 0, 1 ended with their process groups open"
    one = judge("process-group-not-destroyed", fault(5), *begun, *ended("exit", status=3)[1:])
    assert one.reason == "rank 1 ended with its process group open"

"""What the reader makes of Ignite's engines: their loops, and what they run in them."""

import pytest
from reading import only, read

from ddpdoctor.events import EpochBegun, EpochSet, LoaderBuilt, OptimizerStep

SETUP = """
from ignite.engine import Engine, Events
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def update(engine, batch):
    optimizer.step()
engine = Engine(update)
"""
RUN = "engine.run(loader, max_epochs=3)"


def test_the_function_runs_in_a_loop_over_the_batches_in_one_over_the_epochs(tmp_path):
    program = read(tmp_path, SETUP + RUN)
    loader = only(program.of(LoaderBuilt)).loader
    step = only(program.of(OptimizerStep))
    assert [loop.loaders for loop in step.loops] == [(), (loader,)]
    assert [loop.loaders for loop in only(program.of(EpochBegun)).loops] == [()]


def test_an_evaluation_goes_through_the_data_once(tmp_path):
    program = read(tmp_path, SETUP + "engine.run(loader)")
    assert len(only(program.of(OptimizerStep)).loops) == 1


@pytest.mark.parametrize(
    "handler",
    [
        "engine.add_event_handler(Events.EPOCH_STARTED, lambda e: sampler.set_epoch(e.state.epoch))",
        "engine.add_event_handler(Events.EPOCH_STARTED, lambda: sampler.set_epoch(engine.state.epoch))",
        "engine.add_event_handler(Events.EPOCH_STARTED, lambda e, s: s.set_epoch(e.state.epoch), sampler)",
        "@engine.on(Events.EPOCH_STARTED | Events.STARTED)\ndef tell(e):\n    sampler.set_epoch(e.state.epoch)",
    ],
)
def test_a_handler_runs_at_its_event(tmp_path, handler):
    program = read(tmp_path, f"{SETUP}{handler}\n{RUN}")
    assert [len(event.loops) for event in program.of(EpochSet)][-1] == 1
    assert program.of(EpochSet)[-1].order < only(program.of(EpochBegun)).order


def test_a_handler_of_another_event_does_not_run_with_it(tmp_path):
    handler = (
        "engine.add_event_handler(Events.ITERATION_COMPLETED(every=5), lambda e: sampler.set_epoch(e.state.epoch))"
    )
    told = only(read(tmp_path, f"{SETUP}{handler}\n{RUN}").of(EpochSet))
    assert len(told.loops) == 2
    assert len(told.when) == 1

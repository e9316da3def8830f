"""Epochs are cut short with their ends kept, in the ways in which scripts read their loaders."""

import os
import threading
import time
import types

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import (  # noqa: E402
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Subset,
)
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter  # noqa: E402

from ddpdoctor import codec  # noqa: E402
from ddpdoctor.events import EpochBegun, EpochEnded, Substituted  # noqa: E402
from ddpdoctor.harness.child.data_loading import Loading  # noqa: E402
from ddpdoctor.harness.child.drawn import SAMPLES_LOADED  # noqa: E402
from ddpdoctor.harness.child.observer import Observer  # noqa: E402
from ddpdoctor.harness.child.source_cut import AGAIN, NEXT, ROUNDS  # noqa: E402
from ddpdoctor.harness.plan import Plan  # noqa: E402
from ddpdoctor.harness.run_folder import PARTS, Orders, write_orders  # noqa: E402


class Numbers(Dataset):
    """Sample n is the number n."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.tensor(index)


class Stream(IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        return iter(torch.arange(self.length))


class Reading:
    """A script that reads loaders in this process, and what was observed of it."""

    def __init__(self, folder, rank=0, **plan):
        for part in PARTS:
            (folder / part).mkdir(exist_ok=True)
        self.path = folder / f"train{rank}.py"
        fields = {"layers": frozenset({"model", "probe"}), "backend": "redirect", **plan}
        orders = Plan(script=str(self.path), directory=str(folder), style="single", **fields)
        write_orders(str(folder), Orders(plan=orders, root=str(folder), began=time.monotonic(), containment="none"))
        self.observer = Observer(str(folder), rank=rank)
        self.observer.pulse.pid = os.getpid()
        self.batches = []
        loading = Loading(self.observer, _SingleProcessDataLoaderIter)
        self.kind = type("Loader", (DataLoader,), {"__iter__": loading.iterated(DataLoader.__iter__)})

    def loader(self, dataset, **options):
        return self.kind(dataset, **options)

    def backward(self):
        self.observer.budget.backwards += 1

    def step(self, batch=None):
        self.batches.append(batch)
        self.backward()
        self.observer.budget.step_taken("the optimiser")

    def run(self, text, **names):
        """Execute the script's text, with its loops rewritten."""
        self.path.write_text(text)
        module = types.ModuleType("train")
        rounds = self.observer.rounds
        vars(module).update({ROUNDS: rounds.of, AGAIN: rounds.again, NEXT: rounds.asks})
        vars(module).update(step=self.step, backward=self.backward, Loader=self.kind, **names)
        exec(self.observer.source.compiled(text, str(self.path)), vars(module))  # noqa: S102
        return module

    def of(self, kind):
        with open(f"{self.observer.folder}/events/{self.observer.pulse.pid}.jsonl", encoding="utf-8") as file:
            events = [codec.loads(line) for line in file]
        return [event for event in events if isinstance(event, kind) and event.rank == self.observer.recorder.rank]

    @property
    def sizes(self):
        return [len(batch) for batch in self.batches]

    @property
    def epochs(self):
        return [(event.number, event.steps, event.cut) for event in self.of(EpochEnded)]


@pytest.fixture
def reading(tmp_path):
    return Reading(tmp_path)


EPOCHS = "for epoch in range(90):\n    for batch in loader:\n        step(batch)\nlast = epoch\n"


def test_an_epoch_ends_with_the_last_batch_of_the_whole_epoch(reading):
    module = reading.run(EPOCHS, loader=reading.loader(Numbers(41), batch_size=10))
    assert reading.sizes == [SAMPLES_LOADED, SAMPLES_LOADED, 1] * 2
    assert reading.batches[2].tolist() == [40], "the ragged end: a single sample"
    assert module.last == 1
    assert reading.epochs == [(1, 3, True), (2, 3, True)]


def test_the_loader_itself_keeps_its_length_and_its_batches(reading):
    loader = reading.loader(Numbers(640), batch_size=64, drop_last=True)
    assert (len(loader), loader.batch_size) == (10, 64)
    reading.run(EPOCHS, loader=loader)
    assert reading.observer.loaded_share == SAMPLES_LOADED / 64
    (said,) = reading.of(Substituted)
    assert (said.what, said.by) == ("batches of 64 samples", "the first 4 samples of each")
    begun = reading.of(EpochBegun)
    assert [(event.number, event.length) for event in begun] == [(1, 10), (2, 10)]


def test_the_whole_epochs_indices_are_those_that_the_sampler_draws(reading):
    data = Numbers(50)
    sampler = DistributedSampler(data, num_replicas=2, rank=1, shuffle=True)
    expected = list(sampler)
    reading.run(EPOCHS, loader=reading.loader(data, batch_size=4, sampler=sampler))
    begun = reading.of(EpochBegun)
    assert list(begun[0].indices) == expected
    assert reading.batches[0].tolist() == expected[:4]
    assert begun[0].indices == begun[1].indices, "nobody called set_epoch"


def test_drawing_a_whole_epoch_disturbs_no_random_numbers(reading):
    def drawn(kind):
        torch.manual_seed(3)
        batches = iter(kind(Numbers(32), batch_size=8, shuffle=True))
        return next(batches).tolist()[:SAMPLES_LOADED], torch.rand(1).item()

    assert drawn(reading.kind) == drawn(DataLoader)


def test_subsets_of_subsets_are_told_in_the_data_sets_own_indices(reading):
    inner = Subset(Numbers(100), range(50, 100))
    outer = Subset(inner, torch.tensor([1, 3, 5, 7]))
    reading.run(EPOCHS, loader=reading.loader(outer, batch_size=2))
    assert list(reading.of(EpochBegun)[0].indices) == [51, 53, 55, 57]


def test_a_batch_sampler_of_the_scripts_own(reading):
    batches = BatchSampler(RandomSampler(Numbers(30)), batch_size=15, drop_last=False)
    reading.run(EPOCHS, loader=reading.loader(Numbers(30), batch_sampler=batches))
    assert reading.sizes == [SAMPLES_LOADED] * 4
    assert sorted(reading.of(EpochBegun)[0].indices) == list(range(30))
    assert [event.length for event in reading.of(EpochBegun)] == [2, 2]


def test_a_loader_that_goes_round_and_round_in_one_iterator(reading):
    class Endless(reading.kind):
        """Keeps one iterator over a sampler without an end, as loaders with workers that live on do."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            object.__setattr__(self, "batch_sampler", Repeated(self.batch_sampler))
            self.iterator = super().__iter__()

        def __iter__(self):
            for _ in range(len(self)):
                yield next(self.iterator)

    class Repeated:
        def __init__(self, batches):
            self.batches = batches

        def __len__(self):
            return len(self.batches)

        def __iter__(self):
            while True:
                yield from self.batches

    module = reading.run(EPOCHS, loader=Endless(Numbers(40), batch_size=10))
    assert module.last < 90
    assert 6 <= len(reading.batches) <= 10, "it is not refused a batch, and yet comes to its end"


def test_a_stream_without_a_length(reading):
    reading.run(EPOCHS, loader=reading.loader(Stream(1000), batch_size=32))
    assert reading.sizes == [SAMPLES_LOADED] * 6
    begun = reading.of(EpochBegun)
    assert [(event.length, event.indices) for event in begun] == [(None, None)] * 2


class Noisy(Numbers):
    """Each sample has noise from the global generator, as augmented pictures have."""

    def __getitem__(self, index):
        return self.length + index + torch.rand(2)


def data_of(reading, dataset, **options):
    """The digest of a data set that a loader is read from."""
    reading.run("for batch in loader:\n    step(batch)\n", loader=reading.loader(dataset, **options))
    return reading.of(EpochBegun)[-1].data


def test_the_same_data_has_the_same_digest_on_every_rank(tmp_path):
    first, second = Reading(tmp_path, rank=0), Reading(tmp_path, rank=1)
    torch.manual_seed(1)
    digest = data_of(first, Noisy(10), batch_size=2)
    torch.manual_seed(2)
    assert data_of(second, Noisy(10), batch_size=5, shuffle=True) == digest
    assert data_of(first, Subset(Noisy(10), [4, 5]), batch_size=2) == digest
    assert data_of(second, Noisy(12), batch_size=2) != digest
    assert data_of(second, [torch.ones(1)] * 10, batch_size=2) not in (digest, None)


def test_asking_for_samples_leaves_the_scripts_random_numbers_alone(reading):
    torch.manual_seed(1)
    assert data_of(reading, Noisy(4), batch_size=4)
    torch.manual_seed(1)
    (batch,) = DataLoader(Noisy(4), batch_size=4)
    assert torch.equal(reading.batches[-1], batch)


@pytest.mark.parametrize("item", [object(), 1 / 3, "words", {"x": [torch.ones(1), None]}])
def test_samples_of_any_kind(reading, item):
    digest = data_of(reading, [item] * 4, batch_size=2, collate_fn=len)
    assert (digest is None) is (type(item) is object)


def test_no_digest_where_a_distributed_sampler_deals_the_samples(reading):
    sampler = DistributedSampler(Numbers(20), num_replicas=2, rank=0)
    assert data_of(reading, Numbers(20), batch_size=2, sampler=sampler) is None


def test_samples_that_are_not_batched(reading):
    loader = reading.loader(Numbers(9), batch_size=None)
    reading.run("for epoch in range(9):\n    for sample in loader:\n        step([sample])\n", loader=loader)
    assert [int(batch[0]) for batch in reading.batches] == [0, 1, 8] * 2


def test_an_epoch_shorter_than_the_steps_ends_by_itself(reading):
    reading.run(EPOCHS, loader=reading.loader(Numbers(4), batch_size=2))
    assert reading.epochs == [(1, 2, False), (2, 2, False)]


def test_accumulated_gradients_take_several_batches_a_step(reading):
    text = """
for epoch in range(90):
    for index, batch in enumerate(loader):
        backward()
        if index % 4 == 3:
            step(batch)
"""
    reading.run(text, loader=reading.loader(Numbers(400), batch_size=2))
    assert reading.epochs == [(1, 3, True), (2, 3, True)]
    assert reading.batches[2].tolist() == [398, 399], "the last step ends with the last batch"


def test_batches_without_a_backward_are_an_evaluation(reading):
    text = """
seen = []
for epoch in range(90):
    for batch in loader:
        step(batch)
    for batch in validation:
        seen.append(len(batch))
"""
    validation = reading.loader(Numbers(21), batch_size=4)
    module = reading.run(text, loader=reading.loader(Numbers(41), batch_size=10), validation=validation)
    assert module.seen == [4, 4, 1] * 2, "cut too, with its ragged end"
    assert [steps for _, steps, _ in reading.epochs] == [3, 0, 3, 0]


def beside(function, *args, **kwargs):
    """Call a function in a thread of its own, which has none of the frames around."""
    thread = threading.Thread(target=function, args=args, kwargs=kwargs)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_a_rank_with_a_shorter_epoch_runs_out_first(tmp_path):
    first, second = Reading(tmp_path, rank=0), Reading(tmp_path, rank=1)
    second.path = first.path
    loaders = first.loader(Numbers(20), batch_size=2), second.loader(Numbers(12), batch_size=2)
    text = "for batch in loader:\n    other()\n    step(batch)\n"
    begun = []

    def run_second():
        """Run the second rank in the first one's first round: each has begun when the other takes its last step."""
        if not begun:
            begun.append(True)
            beside(second.run, text, loader=loaders[1], other=lambda: None)

    first.run(text, loader=loaders[0], other=run_second)
    assert (first.epochs, second.epochs) == ([(1, 3, True)], [(1, 2, True)])


@pytest.mark.parametrize("length", [2, 3])
def test_so_it_does_when_it_is_shorter_than_the_steps(tmp_path, length):
    first, second = Reading(tmp_path, rank=0), Reading(tmp_path, rank=1)
    second.path = first.path
    loaders = first.loader(Numbers(8), batch_size=2), second.loader(Numbers(2 * length), batch_size=2)
    text = "for batch in loader:\n    other()\n    step(batch)\n"
    begun = []

    def run_second():
        if not begun:
            begun.append(True)
            beside(second.run, text, loader=loaders[1], other=lambda: None)

    first.run(text, loader=loaders[0], other=run_second)
    assert (first.epochs[0][1], second.epochs[0][1]) == (3, 2)


LEFT_EARLY = {
    "a break": "for n, batch in enumerate(loader):\n    other()\n    step(batch)\n    if n == 5:\n        break\n",
    "in a generator": """
def batches():
    for batch in loader:
        yield batch
for n, batch in enumerate(batches()):
    if n == 5:
        break
    other()
    step(batch)
""",
    "a counted part": "for _, batch in zip(range(5), loader):\n    other()\n    step(batch)\n",
}


@pytest.mark.parametrize("text", LEFT_EARLY.values(), ids=LEFT_EARLY)
def test_a_loop_that_is_left_early_ends_alike_on_ranks_with_other_lengths(tmp_path, text):
    first, second = Reading(tmp_path, rank=0), Reading(tmp_path, rank=1)
    second.path = first.path
    loaders = first.loader(Numbers(20), batch_size=2), second.loader(Numbers(12), batch_size=2)
    begun = []

    def run_second():
        if not begun:
            begun.append(True)
            beside(second.run, text, loader=loaders[1], other=lambda: None)

    first.run(text, loader=loaders[0], other=run_second)
    assert first.epochs == second.epochs == [(1, 3, True)]


def test_next_in_a_counted_loop_is_never_refused(reading):
    text = """
for epoch in range(90):
    iterator = iter(loader)
    for index in range(len(loader)):
        batch = next(iterator)
        step(batch)
    ends.append(index)
"""
    ends = []
    reading.run(text, loader=reading.loader(Numbers(100), batch_size=4), ends=ends)
    assert len(ends) == 2, "the counted loop was ended in its stead"
    assert len(reading.of(EpochBegun)) == 2


def test_next_that_begins_again_at_the_end(reading):
    text = """
iterator = iter(loader)
for step_number in range(10_000):
    try:
        batch = next(iterator)
    except StopIteration:
        iterator = iter(loader)
        batch = next(iterator)
    step(batch)
"""
    reading.run(text, loader=reading.loader(Numbers(100), batch_size=4))
    assert reading.epochs[:2] == [(1, 3, True), (2, 3, True)]


def test_an_endless_generator_begins_the_next_epoch(reading):
    text = """
def endless():
    while True:
        for batch in loader:
            yield batch

source = endless()
for number in range(10_000):
    step(next(source))
after = True
"""
    module = reading.run(text, loader=reading.loader(Numbers(100), batch_size=4))
    assert reading.epochs[:2] == [(1, 3, True), (2, 3, True)]
    assert module.after


def test_a_generator_with_an_end_is_not_ended_under_next(reading):
    text = """
def once():
    for batch in loader:
        yield batch

source = once()
for number in range(20):
    step(next(source))
after = True
"""
    assert reading.run(text, loader=reading.loader(Numbers(100), batch_size=4)).after


def test_one_batch_to_look_at_is_no_epoch(reading):
    text = "look = next(iter(loader))\n" + EPOCHS
    module = reading.run(text, loader=reading.loader(Numbers(41), batch_size=10))
    assert module.look.tolist() == [0, 1, 2, 3]
    assert [event.number for event in reading.of(EpochBegun)] == [1, 2]
    assert reading.epochs == [(1, 3, True), (2, 3, True)]


def test_one_batch_to_train_on_is_an_epoch(reading):
    text = "batches = iter(loader)\nstep(next(batches))\ndel batches\n"
    reading.run(text, loader=reading.loader(Numbers(4), batch_size=4))
    assert [event.number for event in reading.of(EpochBegun)] == [1]
    assert [steps for _, steps, _ in reading.epochs] == [1]


@pytest.mark.parametrize(("workers", "expected"), [(0, 1), (2, 0)])
def test_an_epoch_set_once_the_iterator_is_there_counts_only_without_workers(reading, workers, expected):
    data = Numbers(20)
    sampler = DistributedSampler(data, num_replicas=1, rank=0)
    loader = reading.loader(data, batch_size=20, sampler=sampler, num_workers=workers)
    reading.run("for n in loader:\n    step(n)\n", loader=late(loader, sampler))
    sampler.set_epoch(expected)
    assert list(reading.of(EpochBegun)[0].indices) == list(sampler)


def late(loader, sampler):
    """A loader's iterator, made before the epoch is set."""
    iterator = iter(loader)
    sampler.set_epoch(1)
    return iterator


def test_batches_that_are_gone_through_again_and_again(reading):
    text = "import itertools\nfor batch in itertools.cycle(loader):\n    step(batch)\nafter = True\n"
    module = reading.run(text, loader=reading.loader(Numbers(100), batch_size=4))
    assert module.after
    assert len(reading.batches) == 6


def test_a_loop_that_is_broken_off_counts_as_an_epoch(reading):
    text = """
for epoch in range(90):
    for index, batch in enumerate(loader):
        step(batch)
        if index == 1:
            break
last = epoch
"""
    module = reading.run(text, loader=reading.loader(Numbers(100), batch_size=4))
    assert module.last == 1
    assert reading.epochs == [(1, 2, True), (2, 2, True)]


def test_the_model_layer_alone_reads_one_batch(tmp_path):
    reading = Reading(tmp_path, layers=frozenset({"model"}))
    module = reading.run(EPOCHS, loader=reading.loader(Numbers(41), batch_size=10))
    assert reading.sizes == [SAMPLES_LOADED]
    assert module.last == 0


def test_loader_workers_are_not_started(reading):
    loader = reading.loader(Numbers(40), batch_size=4, num_workers=3, persistent_workers=True, timeout=5)
    reading.run(EPOCHS, loader=loader)
    assert (loader.num_workers, loader.timeout) == (3, 5), "as the script set them"
    assert len(reading.batches) == 6

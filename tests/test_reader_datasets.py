"""What the reader makes of data sets: what their loaders' workers hold copies of, and how they are divided."""

import pytest
from reading import only, read

from ddpdoctor.events import DatasetChanged, DeviceUsed, LoaderBuilt, SamplerBuilt, WorkerTouchesCuda

STAGED = """
class Staged(Dataset):
    def __init__(self):
        self.stage = 0
        self.seen = 0
    def advance(self, stage):
        self.stage = stage
    def __getitem__(self, index):
        self.seen += 1
        return self._at(index)
    def _at(self, index):
        return index * self.stage
    def __len__(self):
        return 10
data = Staged()
"""


@pytest.mark.parametrize(
    ("setup", "write", "expected"),
    [
        ("loader = DataLoader(data, num_workers=2, persistent_workers=True)", "data.stage = epoch", ["stage"]),
        ("loader = DataLoader(data, num_workers=2, persistent_workers=True)", "data.advance(epoch)", ["stage"]),
        ("loader = DataLoader(data, num_workers=2, persistent_workers=True)", "loader.dataset.advance(1)", ["stage"]),
        ("loader = DataLoader(data, num_workers=2, persistent_workers=True)", "data.other = epoch", []),
        ("loader = DataLoader(data, num_workers=2, persistent_workers=True)", "data[epoch]", []),
        ("loader = DataLoader(data, num_workers=2)", "data.stage = epoch", []),
    ],
)
def test_what_persistent_workers_hold_copies_of(tmp_path, setup, write, expected):
    program = read(tmp_path, f"{STAGED}{setup}\nfor epoch in range(3):\n    {write}\n    for x in loader: pass\n")
    found = program.of(DatasetChanged)
    assert [event.attribute for event in found] == expected
    if expected:
        last = len((tmp_path / "train.py").read_text().splitlines())
        assert (found[0].loader, found[0].place.line) == (only(program.of(LoaderBuilt)).loader, last - 1)


STREAM = """
class Rows(torch.utils.data.IterableDataset):
    def __init__(self, rows):
        self.rows = rows
    def __iter__(self):
        {body}
loader = DataLoader(Rows(rows){more})
"""
ON_RANKS = "from parts import part"


@pytest.mark.parametrize(
    ("body", "more", "sharded_by", "split_by_worker"),
    [
        ("yield from self.rows", "", None, False),
        ("info = torch.utils.data.get_worker_info(); yield from self.rows[info.id::info.num_workers]", "", None, True),
        ("yield from self.rows[dist.get_rank()::dist.get_world_size()]", "", "the dataset", False),
        ("yield from part(self.rows)", "", "unknown", False),
        ("yield torch.randn(3)", "", "unknown", False),
        ("yield from self.rows", ", worker_init_fn=part", "unknown", False),
    ],
)
def test_a_stream_that_asks_for_no_rank_is_whole_on_each(tmp_path, body, more, sharded_by, split_by_worker):
    text = f"{ON_RANKS}\n{STREAM.format(body=body, more=more)}"
    parts = "import torch.distributed as dist\ndef part(rows): return rows[dist.get_rank()::dist.get_world_size()]\n"
    built = only(read(tmp_path, text, parts=parts).of(LoaderBuilt))
    assert built.iterable
    assert (built.sharded_by, built.split_by_worker) == (sharded_by, split_by_worker)


def test_a_data_set_with_indices_is_no_stream(tmp_path):
    assert not only(read(tmp_path, "loader = DataLoader(data)").of(LoaderBuilt)).iterable


WORLD = "rank, world = dist.get_rank(), dist.get_world_size()\n"


@pytest.mark.parametrize(
    ("data", "uneven"),
    [
        ("files[rank::world]", True),
        ("sorted(files)[rank::world]", True),
        ("[x for x in files][rank::world]", True),
        ("torch.utils.data.Subset(files, range(rank, len(files), world))", True),
        ("torch.utils.data.Subset(files, list(range(rank, len(files), world)))", True),
        ("__import__('numpy').array_split(files, world)[rank]", True),
        ("torch.tensor_split(files, world)[rank]", True),
        ("files[: len(files) // world * world][rank::world]", False),
        ("files[:1000][rank::world]", False),
        ("files[rank : total : world]", False),
        ("files[rank * (len(files) // world) : (rank + 1) * (len(files) // world)]", False),
        ("torch.utils.data.Subset(files, range(rank, len(files) // world * world, world))", False),
        ("files[::2]", False),
    ],
)
def test_parts_that_ranks_cut_out_may_have_other_lengths(tmp_path, data, uneven):
    program = read(tmp_path, f"{WORLD}loader = DataLoader({data}, batch_size=4)")
    assert (only(program.of(LoaderBuilt)).cut is not None) is uneven


@pytest.mark.parametrize(
    "text",
    [
        "assert len(files) % world == 0\nloader = DataLoader(files[rank::world])",
        "if len(files) % world:\n    raise SystemExit\nloader = DataLoader(files[rank::world])",
        "loader = DataLoader(files[rank::world], sampler=DistributedSampler(files))",
    ],
)
def test_parts_that_are_known_to_be_even_are(tmp_path, text):
    assert only(read(tmp_path, WORLD + text).of(LoaderBuilt)).cut is None


LENGTHS = """
import argparse
import torchvision
from torch.utils.data import ConcatDataset, Subset, TensorDataset, random_split
class Said(Dataset):
    def __len__(self): return 640
class Counted(Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
class Held(Dataset):
    def __init__(self, n):
        super().__init__()
        self.points = torch.randn(n, 8)
    def __len__(self):
        'How many.'
        return len(self.points)
class Asked(Dataset):
    def __init__(self, files): self.files = files
    def __len__(self): return len(self.files)
points = torch.randn(1_000, 8)
args = argparse.ArgumentParser().parse_args()
"""


@pytest.mark.parametrize(
    ("dataset", "lengths"),
    [
        ("TensorDataset(torch.randn(128, 4), torch.randint(0, 2, (128,)))", (128,)),
        ("TensorDataset(points.float(), torch.zeros(1_000))", (1000,)),
        ("TensorDataset(torch.randint(0, 9, (64, 3)))", (64,)),
        ("TensorDataset(torch.rand(size=(12, 3)), points)", (12,)),
        ("TensorDataset(torch.arange(2, 12))", (10,)),
        ("TensorDataset(points[900:])", (100,)),
        ("points[:-100]", (900,)),
        ("range(96)", (96,)),
        ("list(range(4, 96, 2))", (46,)),
        ("[1, 2, 3]", (3,)),
        ("Subset(points, range(500))", (500,)),
        ("ConcatDataset([range(10), points])", (1010,)),
        ("random_split(points, [800, 200])[1]", (200,)),
        ("random_split(points, [0.7, 0.3])[1]", (300,)),
        ("random_split(points, (len(points) - int(0.1 * len(points)), int(0.1 * len(points))))[1]", (100,)),
        ("random_split(points, (len(points) - int(args.share * len(points)), 1))[0]", ()),
        ("random_split(range(11), [0.5, 0.5])[0]", (6,)),
        ("torchvision.datasets.CIFAR10('data', train=False)", (10_000,)),
        ("torchvision.datasets.MNIST('data')", (60_000,)),
        ("torchvision.datasets.ImageNet('data', split='val')", (50_000,)),
        ("torchvision.datasets.FakeData(size=36)", (36,)),
        ("Said()", (640,)),
        ("Counted(5)", (5,)),
        ("Held(30)", (30,)),
        ("Held(30) if args.small else Held(3_000)", (30, 3_000)),
        ("Asked(os.listdir('data'))", ()),
        ("Held(args.n)", ()),
        ("Held(30) if args.small else Asked(os.listdir('data'))", ()),
        ("torchvision.datasets.CIFAR10('data', train=args.train)", ()),
        ("torchvision.datasets.ImageFolder('data')", ()),
        ("random_split(points, args.parts)[0]", ()),
        ("points[: args.n]", ()),
    ],
)
def test_how_many_samples_there_are_where_the_source_says_so(tmp_path, dataset, lengths):
    program = read(tmp_path, f"{LENGTHS}\nsampler = DistributedSampler({dataset})")
    assert only(program.of(SamplerBuilt)).lengths == lengths


TOUCHING = """
class Moved(Dataset):
    def __init__(self, device="cuda"):
        self.device = device
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return self._moved(torch.ones(index))
    def _moved(self, sample):
        return sample.to(self.device)
    def on_gpu(self, batch):
        return batch.cuda()
class Plain(Dataset):
    def __getitem__(self, index):
        return torch.ones(index)
    def on_gpu(self, batch):
        return batch.cuda()
def collate(samples):
    return torch.stack(samples).cuda()
"""
FORKED = "num_workers=2, multiprocessing_context='fork'"


@pytest.mark.parametrize(
    ("loader", "touches"),
    [
        (f"DataLoader(Moved(), {FORKED})", True),
        (f"DataLoader(Moved(torch.device('cuda', 1)), {FORKED})", True),
        (f"DataLoader(torch.utils.data.Subset(Moved(), [1]), {FORKED})", True),
        (f"DataLoader(Plain(), collate_fn=collate, {FORKED})", True),
        (f"DataLoader(Plain(), collate_fn=lambda samples: torch.stack(samples).cuda(), {FORKED})", True),
        ("DataLoader(Moved(), num_workers=2, multiprocessing_context='spawn')", False),
        ("DataLoader(Moved())", False),
        (f"DataLoader(Moved('cpu'), {FORKED})", False),
        (f"DataLoader(Moved(other.device()), {FORKED})", False),
        (f"DataLoader(Moved(rank_of(x).device), {FORKED})", False),
        (f"DataLoader(Plain(), {FORKED})", False),
    ],
)
def test_what_forked_workers_run_comes_to_cuda(tmp_path, loader, touches):
    program = read(tmp_path, f"{TOUCHING}loader = {loader}\nfor x in loader: pass\n")
    assert bool(program.of(WorkerTouchesCuda)) is touches
    assert not program.of(DeviceUsed)


def test_the_workers_start_as_the_script_says(tmp_path):
    text = f"mp.set_start_method('spawn')\n{TOUCHING}loader = DataLoader(Moved(), num_workers=2)\n"
    assert not read(tmp_path, text).of(WorkerTouchesCuda)


@pytest.mark.parametrize(
    ("transform", "more", "random"),
    [
        ("T.RandomCrop(3)", "", True),
        ("T.Compose([T.ToTensor(), T.ColorJitter(0.1)])", "", True),
        ("T.v2.Compose([T.v2.RandomHorizontalFlip()])", "", True),
        ("T.Compose([T.ToTensor(), T.CenterCrop(3)])", "", False),
        ("T.RandomCrop(3)", ", generator=g", False),
        ("T.RandomCrop(3)", ", worker_init_fn=f", False),
    ],
)
def test_a_random_transform_in_a_data_set_is_known(tmp_path, transform, more, random):
    text = f"from torchvision import datasets, transforms as T\ndata = datasets.MNIST('x', transform={transform})\n"
    program = read(tmp_path, f"{text}loader = DataLoader(torch.utils.data.Subset(data, [1]){more})")
    assert (only(program.of(LoaderBuilt)).augmented_by is not None) is random

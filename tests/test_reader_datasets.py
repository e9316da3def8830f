"""What the reader makes of data sets: what their loaders' workers hold copies of, and how they are divided."""

import pytest
from reading import only, read

from ddpdoctor.events import DatasetChanged, LoaderBuilt

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

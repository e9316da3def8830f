"""What is kept from one program to the next, and what is let go of."""

import gc
from pathlib import Path

from reading import read

from ddpdoctor import memory
from ddpdoctor.reader.outline import outline
from ddpdoctor.reader.shelf import Shelf

PROGRAM = """
class Trainer:
    def __init__(self, model):
        self.model = DDP(model)
        self.loaders = [DataLoader(part) for part in (1, 2) for _ in (3, 4)]

    def run(self):
        def step(batch):
            return self.model(batch)
        for loader in self.loaders:
            for batch in loader:
                step(batch).backward()

dist.init_process_group("nccl")
if os.environ.get("A") or os.environ.get("B"):
    Trainer(nn.Linear(2, 2)).run()
"""


def test_what_a_walk_leaves_goes_by_itself(tmp_path: Path) -> None:
    read(tmp_path, PROGRAM)
    memory.forget()
    gc.collect()
    gc.disable()
    try:
        trace = read(tmp_path, PROGRAM)
        assert len(trace.events) > 5
        del trace
        memory.forget()
        assert gc.collect() < 100
    finally:
        gc.enable()


def test_a_shelf_gives_up_what_was_asked_for_least_lately() -> None:
    shelf = Shelf[str](10)
    made: list[str] = []

    def get(key: str, size: int) -> str:
        return shelf.get(key, size, lambda: made.append(key) or key)

    assert [get("a", 4), get("b", 4), get("a", 4), get("c", 4), get("a", 4), get("b", 4)] == list("abacab")
    assert made == ["a", "b", "c", "b"]
    assert get("large", 11) == "large"
    assert [get("a", 4), get("b", 4)] == ["a", "b"]
    assert made == ["a", "b", "c", "b", "large", "a", "b"]


def test_long_strings_are_no_code_but_formatted_ones_are() -> None:
    text = (
        "a = '''one'''\nb = rf\"\"\"{two}\"\"\"\nc = f'''{three}'''\nd = r\"\"\"four ''' \"\"\"\ne = '''never ended\n"
    )
    names = outline(text).whole.chains
    assert {"two", "three", "never"} <= names
    assert not {"one", "four"} & names

"""Notebooks: cells, magics, files that cells write, and notebooks among the files of a folder."""

import json
from pathlib import Path

import pytest

HEAD = "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, DistributedSampler\n"
FAULT = "loader = DataLoader([1], sampler=DistributedSampler([1]), shuffle=True)\n"


def book(*cells: str, old: bool = False) -> str:
    """Return a notebook with cells of code."""
    if old:
        return json.dumps(
            {"worksheets": [{"cells": [{"cell_type": "code", "input": cell} for cell in cells]}], "nbformat": 3}
        )
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4})


@pytest.fixture
def places(ran, project: Path):
    """Return the cells and lines of what is found in a notebook."""

    def check(text: str) -> list[tuple[int, int]]:
        (project / "book.ipynb").write_text(text)
        options = ["--source-only", "--format", "json", "--select", "shuffle-with-sampler,syntax-error"]
        findings = json.loads(ran("check", *options, "book.ipynb").out)["findings"]
        assert {finding["file"] for finding in findings} <= {"book.ipynb"}
        return [(finding["cell"], finding["line"]) for finding in findings]

    return check


@pytest.mark.parametrize(
    ("magic", "line"),
    [
        ("%matplotlib inline\n", 2),
        ("%%time\n", 2),
        ("%%capture out --no-stderr\n", 2),
        ("!pip install torch\n", 2),
        ("!pip install \\\n    torch \\\n    torchvision\n", 4),
        ("%cd -q /content\n?print\nprint??\n", 4),
        ("files = !ls\n", 2),
        ("x, y = %system ls\n", 2),
        ("for x in range(3):\n    !echo {x}\n", 3),
        ("if True:\n    %pip install x\nelse:\n    x = 1\n", 5),
        ("x = '''\n!no magic\n%%neither\n'''\n", 5),
        ("x = (7\n     % 3)\n", 3),
        ("x = (7\n% 3)\n", 3),
        ("text = '''%s\n%d\n''' % (1, 2)\n%load_ext autoreload\n", 5),
        ("await x\n", 2),
    ],
)
def test_magics_are_passed_over_and_the_code_around_them_is_read(places, magic, line):
    assert places(book(HEAD, magic + FAULT)) == [(1, line)]


@pytest.mark.parametrize("timed", ["%time ", "%timeit -n 1 -r 1 ", "%prun "])
def test_code_behind_a_magic_is_read(places, timed):
    assert places(book(HEAD, timed + FAULT)) == [(1, 1)]


@pytest.mark.parametrize(
    "first", ["%%bash", "%%html", "%%javascript", "%%writefile notes.txt", "%%sql", "%%script bash"]
)
def test_a_cell_in_another_language_is_not_read(places, first):
    assert places(book(HEAD, f"{first}\n{FAULT}")) == []


@pytest.mark.parametrize("first", ["%%python", "%%python3", "%%script python3"])
def test_a_cell_for_another_process_is_a_program_of_its_own(places, first):
    assert places(book("DataLoader = None\n", f"{first}\n{HEAD}{FAULT}")) == [(1, 4)]
    assert places(book(HEAD, f"{first}\n{FAULT}")) == [], "it knows nothing of what the other cells import"


def test_a_cell_that_does_not_parse_is_left_out(places):
    assert places(book(HEAD, "this is (prose\n", FAULT)) == [(2, 1)]


def test_a_notebook_of_before_2014_is_read(places):
    assert places(book(HEAD, FAULT, old=True)) == [(1, 1)]


def test_a_file_that_a_cell_writes_is_a_program(places):
    assert places(book("x = 1\n", f"%%writefile train.py\n{HEAD}{FAULT}")) == [(1, 4)]


def test_written_files_import_each_other_and_the_cells_import_them(places):
    loaders = "def make(data, **more):\n    return DataLoader(data, **more)\n"
    train = "from going_modular.loaders import make\nfrom torch.utils.data import DistributedSampler\n"
    train += "make([1], sampler=DistributedSampler([1]), shuffle=True)\n"
    written = f"%%writefile going_modular/loaders.py\n{HEAD}{loaders}"
    assert places(book("!mkdir going_modular", written, f"%%writefile train.py\n{train}")) == [(1, 5)]
    assert places(book(written, train)) == [(0, 5)]
    beside = train.replace("going_modular.loaders", "loaders")
    assert places(book(written, f"%%writefile going_modular/train.py\n{beside}")) == [(0, 5)]


def test_the_last_file_that_is_written_counts_and_more_can_be_appended(places):
    assert places(book(f"%%writefile a.py\n{HEAD}{FAULT}", "%%writefile a.py\nx = 1\n")) == []
    assert places(book(f"%%writefile a.py\n{HEAD}", f"%%writefile -a a.py\n{FAULT}")) == [(1, 2)]


def test_a_file_that_was_run_before_it_is_written_anew_is_a_program_too(places):
    written = f"%%writefile a.py\n{HEAD}{FAULT}"
    assert places(book(written, "!torchrun --nproc-per-node 2 a.py", "%%writefile a.py\nx = 1\n")) == [(0, 4)]


def test_notebooks_in_a_folder_are_checked_with_the_scripts(ran, project):
    (project / "deep").mkdir()
    (project / "deep" / "book.ipynb").write_text(book(HEAD, FAULT))
    (project / "train.py").write_text(HEAD + FAULT)
    (project / ".ipynb_checkpoints").mkdir()
    (project / ".ipynb_checkpoints" / "book.ipynb").write_text(book(HEAD, FAULT))
    lines = ran("check", "--source-only", ".", "--select", "shuffle-with-sampler").out.splitlines()
    assert [line.partition("  error")[0] for line in lines if "  error  " in line] == [
        "deep/book.ipynb:cell 1:1:10",
        "train.py:3:10",
    ]
    assert lines[-1] == "2 errors in 2 files (source only)."


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000, '{"cells": [{}]}'])
def test_what_is_no_notebook_is_a_finding(places, text):
    assert places(text) == ([] if text == '{"cells": [{}]}' else [(None, 1)])


def test_a_notebook_with_megabytes_of_pictures_is_read(ran, project):
    document = json.loads(book(HEAD, FAULT))
    document["cells"][0]["outputs"] = [{"data": {"image/png": "A" * 6_000_000}}]
    (project / "book.ipynb").write_text(json.dumps(document))
    assert "book.ipynb:cell 1:1:10  error  shuffle" in ran("check", "--source-only", "book.ipynb").out

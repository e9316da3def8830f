"""Whole programs as the reader meets them: entries, budgets, contexts, damage, notebooks."""

import json
import sys

import pytest
from reading import HEAD, only, read

from ddpdoctor import reader
from ddpdoctor.events import (
    Backward,
    Collective,
    CudaTouched,
    DeviceUsed,
    EnvSet,
    FrameworkOwns,
    GroupDestroyed,
    GroupInit,
    ProcessJoined,
    ProcessStarted,
    Unparsed,
)
from ddpdoctor.reader.library import merge
from ddpdoctor.reader.start_method import default_start_method


def test_a_program_without_an_entry_has_its_functions_as_roots(tmp_path):
    program = read(tmp_path, "def train(rank):\n    dist.init_process_group('nccl')\n")
    assert not program.entered and len(program.of(GroupInit)) == 1


def test_what_the_entry_does_not_call_is_not_there(tmp_path):
    program = read(
        tmp_path,
        """
        def main():
            dist.init_process_group("nccl")
        def cleanup():
            dist.destroy_process_group()
        if __name__ == "__main__":
            main()
        """,
    )
    assert program.entered and program.complete
    assert not program.of(GroupDestroyed)


@pytest.mark.parametrize(
    "entry",
    [
        "fire.Fire(main)",
        "typer.run(main)",
        "asyncio.run(main())",
        "torch.distributed.elastic.multiprocessing.errors.record(main)()",
    ],
)
def test_entries_that_a_library_calls_are_followed(tmp_path, entry):
    program = read(
        tmp_path,
        f"import fire, typer, asyncio, torch.distributed\ndef main():\n    dist.init_process_group('nccl')\n{entry}\n",
    )
    assert program.entered and len(program.of(GroupInit)) == 1


def test_blocks_around_an_event_are_known(tmp_path):
    program = read(
        tmp_path,
        """
        import atexit
        from contextlib import contextmanager
        @contextmanager
        def group():
            dist.init_process_group("nccl")
            try:
                yield
            finally:
                dist.destroy_process_group()
        with group():
            with torch.no_grad():
                dist.barrier()
        atexit.register(dist.destroy_process_group)
        """,
    )
    first, second = program.of(GroupDestroyed)
    assert first.is_within("finally") and second.is_within("atexit")
    barrier = only(program.of(Collective))
    assert barrier.is_within("no_grad") and barrier.is_within("protected")
    assert only(program.of(GroupInit)).order < barrier.order < first.order


def test_a_spawn_that_is_joined_later_is_known_to_be(tmp_path):
    program = read(
        tmp_path,
        """
        def worker(rank): pass
        context = mp.spawn(worker, nprocs=2, join=False)
        while not context.join():
            pass
        """,
    )
    started, joined = only(program.of(ProcessStarted)), only(program.of(ProcessJoined))
    assert started.join.value is False and joined.started == started.started


def test_an_import_with_effects_happens_where_it_stands(tmp_path):
    program = read(
        tmp_path,
        """
        import settings
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        print(settings.DEVICE)
        """,
        settings="import torch\nDEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
    )
    touched, written = program.of(CudaTouched)[0], only(program.of(EnvSet))
    assert touched.order < written.order and touched.place.file.endswith("settings.py")


def test_a_device_that_is_named_is_told_from_one_that_is_not(tmp_path):
    program = read(
        tmp_path,
        """
        rank = int(os.environ["LOCAL_RANK"])
        model = nn.Linear(1, 1)
        model.cuda(); model.to("cuda"); model.to(f"cuda:{rank}"); model.to(torch.device("cuda", rank)); model.to("cpu")
        """,
    )
    assert ["rank" in event.index.taint if event.index else None for event in program.of(DeviceUsed)] == [
        None,
        None,
        True,
        True,
    ]


def test_frameworks_own_their_duties(tmp_path):
    program = read(
        tmp_path,
        "import lightning as L\nL.Trainer(strategy='ddp')\nfrom accelerate import Accelerator\nAccelerator()\n",
    )
    assert [("sampler" in event.duties, "save" in event.duties) for event in program.of(FrameworkOwns)] == [
        (True, True),
        (True, False),
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("print(\u201chello\u201d)\n", "curly quotes"),
        ("def f():\n  x = 1\n     y = 2\n", "indentation"),
        ("x =\u00a01\n", "invisible spaces"),
        (">>> import torch\n", "prompt"),
        ("print 'hello'\n", "Python 2"),
        ("if a &lt; b:\n    pass\n", "HTML"),
        ("<<<<<<< HEAD\nx = 1\n", "merge"),
    ],
)
def test_a_file_that_does_not_parse_names_the_likely_cause(tmp_path, text, cause):
    program = read(tmp_path, text, head="")
    assert cause in only(program.of(Unparsed)).cause
    assert not program.complete


@pytest.mark.parametrize(("default", "complete"), [("plain", True), ("broken", False)])
def test_a_module_that_does_not_parse_is_missed_only_where_the_defaults_come_to_it(tmp_path, default, complete):
    (tmp_path / "broken.py").write_text("class nn.Module:\n    pass\n")
    program = read(
        tmp_path,
        f"""
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", default="{default}")
        args = parser.parse_args()
        if args.model == "broken":
            import broken
            model = broken.build()
        dist.init_process_group("nccl")
        """,
    )
    assert program.complete is complete


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"x = 1\0\n", "null bytes"),
        (b"x = '\xe9'\n", "utf-8"),
        (b"# coding: nonsense\nx = 1\n", "encoding"),
        (b"x = " + b"(" * 3000 + b")" * 3000, ""),
    ],
)
def test_odd_bytes_end_in_a_finding(content, words):
    (program,) = reader.read("/-", "/", content)
    assert words in only(program.of(Unparsed)).message


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbfx = 1\n", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", b"", b"x = 1\r\n"]
)
def test_encodings_that_python_reads_are_read(content):
    (program,) = reader.read("/-", "/", content)
    assert not program.of(Unparsed)


@pytest.mark.parametrize(
    "text",
    [
        "def f(n):\n    return f(n - 1)\nf(3)\n",
        "x = " + "+".join(["1"] * 3000) + "\n",
        "class A(A): pass\n",
        "import train\n",
        "\n".join(f"def f{i}():\n    f{i + 1}()\n    f{i + 1}()" for i in range(60)) + "\ndef f60(): pass\nf0()\n",
        "a = []\na.append(a)\nfor x in a:\n    print(x)\n",
        "d = {}\nd['d'] = d\nprint(d['d']['d'])\n",
        "while True:\n    pass\n",
    ],
)
def test_programs_that_go_on_for_ever_are_ended(tmp_path, text):
    assert read(tmp_path, text) is not None


def test_cyclic_imports_and_packages_that_import_themselves_end(tmp_path):
    program = read(
        tmp_path,
        "import a\nimport pkg.inner\na.go()\n",
        a="import b\ndef go():\n    b.back()\n",
        b="import a\nimport torch.distributed as dist\ndef back():\n    dist.init_process_group('nccl')\n",
        pkg____init__="import pkg\nfrom pkg import inner\n",
        pkg__inner="import pkg\nfrom . import inner\n",
    )
    assert len(program.of(GroupInit)) == 1


def test_a_notebook_is_read_cell_by_cell_and_its_written_files_apart(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# a heading\n"]},
        {
            "cell_type": "code",
            "source": ["%matplotlib inline\n", "!pip install torch\n", *HEAD.splitlines(keepends=True)],
        },
        {"cell_type": "code", "source": "dist.init_process_group(\n    'nccl')\n"},
        {
            "cell_type": "code",
            "source": ["%%writefile other.py\n", "import torch.distributed\n", "torch.ones(1).sum().backward()\n"],
        },
        {"cell_type": "code", "source": "this is no Python\n"},
        {"cell_type": "code", "source": "files = !ls\ndist.barrier()\n"},
    ]
    path = tmp_path / "train.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    main, written = reader.read(str(path), str(tmp_path))
    place = only(main.of(GroupInit)).place
    assert (place.cell, place.line, place.end_line) == (2, 1, 2)
    assert only(main.of(Collective)).place[-1:] == (5,) and only(main.of(Collective)).place.line == 2
    assert only(written.of(Backward)).place.line == 3


def test_columns_count_characters(tmp_path):
    program = read(tmp_path, 'x = "é"; dist.barrier()\n')
    place = only(program.of(Collective)).place
    assert (place.column, place.end_column) == (10, 24)


def test_two_models_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"two models of os\.getpid"):
        merge({"os.getpid": None, "os.umask": None}, {"os.getpid": None})


@pytest.mark.parametrize(
    ("version", "expected"), [((3, 10), "fork"), ((3, 13), "fork"), ((3, 14), "forkserver"), ((3, 15), "forkserver")]
)
def test_processes_start_as_the_python_that_reads_starts_them(tmp_path, version, expected):
    assert default_start_method(version) == expected
    program = read(tmp_path, "mp.Process(target=print).start()\n")
    assert only(program.of(ProcessStarted)).method == default_start_method(sys.version_info[:2])

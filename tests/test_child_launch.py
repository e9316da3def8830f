"""A script runs as it would by itself: its name, its arguments, its imports, its ends."""

import pytest
from child_run import child, line

from ddpdoctor.events import Ended, EnvSet, Raised, Substituted
from ddpdoctor.harness.child.launch import started


def test_the_script_is_main_with_its_own_arguments_and_folder(tmp_path):
    (tmp_path / "project" / "scripts").mkdir(parents=True)
    (tmp_path / "project" / "scripts" / "beside.py").write_text("VALUE = 7\n")
    script = """
        import os, sys
        import beside
        assert __name__ == "__main__"
        assert sys.argv[1:] == ["--data", "a b", "--local_rank=0"], sys.argv
        assert sys.argv[0] == os.path.relpath(__file__) and os.path.isabs(__file__)
        assert sys.path[0] == os.path.dirname(__file__)
        assert sys.modules["__main__"].beside.VALUE == 7
        assert os.getcwd() == os.path.dirname(os.path.dirname(__file__))
        assert sys.stdin.read() == ""
        print("ran", flush=True)
    """
    arguments = ["--data", "a b", "--local_rank={local_rank}"]
    run = child(tmp_path, script, name="scripts/train.py", arguments=arguments)
    assert not run.of(Raised), run.output
    assert "ran" in run.output
    assert not list((tmp_path / "project").rglob("*.pyc")), "nothing is written beside the user's files"


def test_a_module_of_a_package_is_run_as_one(tmp_path):
    package = tmp_path / "project" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "model.py").write_text("WIDTH = 3\n")
    script = """
        import sys, multiprocessing as mp
        from .model import WIDTH

        def work():
            print("child", WIDTH, __name__, flush=True)

        if __name__ == "__main__":
            assert __package__ == "package" and __spec__.name == "package.train"
            process = mp.get_context("spawn").Process(target=work)
            process.start()
            process.join()
            assert process.exitcode == 0
    """
    run = child(tmp_path, script, name="package/train.py")
    assert not run.of(Raised), run.output
    assert "child 3 __mp_main__" in run.output


@pytest.mark.parametrize(
    ("source", "packages", "expected"),
    [
        (b"import os\n", ["a"], ("/project/a", None)),
        (b"from .x import y\n", ["a"], ("/project", "a.train")),
        (b"from .x import y\n", ["a", "b"], ("/project", "a.b.train")),
        (b"from ..x import y\n", [], ("/project", "a.b.train")),
        (b"text = 'from .x import y'\n", ["a"], ("/project/a", None)),
        (b"from .x import (\n", ["a"], ("/project/a", None)),
    ],
)
def test_how_a_script_has_to_be_started(tmp_path, source, packages, expected):
    folder = tmp_path / "project"
    inner = folder / "a" / "b" if "b" in packages or b".." in source else folder / "a"
    inner.mkdir(parents=True)
    for depth, _ in enumerate(packages):
        (folder.joinpath(*packages[: depth + 1]) / "__init__.py").write_text("")
    start = started(str(inner / "train.py"), source, str(folder))
    assert (start.folder.replace(str(folder), "/project"), start.module) == expected


@pytest.mark.parametrize(
    ("script", "how", "status"),
    [
        ("print('done')\n", "natural", 0),
        ("import sys\nsys.exit()\n", "exit", 0),
        ("import sys\nsys.exit(4)\n", "exit", 4),
        ("import sys\nsys.exit('no data')\n", "exit", 1),
        ("import os\nos._exit(5)\n", "exit", 5),
        ("raise RuntimeError('no')\n", "exception", 1),
    ],
)
def test_the_ends_of_a_script(tmp_path, script, how, status):
    run = child(tmp_path, script)
    end = run.one(Ended)
    assert (end.how, end.status, end.said) == (how, status, "no data" if "no data" in script else "")
    assert run.exits == (status,)
    (last,) = run.statuses
    assert last.done


def test_what_a_script_does_at_exit_comes_before_its_end(tmp_path):
    script = """
        import atexit, os
        atexit.register(os.environ.__setitem__, "RANK", "9")
        def last():
            os.environ["RANK"] = "10"
        atexit.register(last)
    """
    run = child(tmp_path, script)
    assert [type(event).__name__ for event in run.events][-2:] == ["EnvSet", "Ended"]


def test_an_exception_is_printed_as_the_interpreter_would(tmp_path):
    run = child(tmp_path, "def train():\n    raise ValueError('broken')\ntrain()\n")
    path = tmp_path / "project" / "train.py"
    assert f'File "{path}", line 3, in <module>' in run.output
    assert "ValueError: broken" in run.output
    assert "ddpdoctor" not in run.output
    raised = run.one(Raised)
    assert (line(raised), [place.line for place in raised.stack]) == (2, [3])


def test_a_script_that_does_not_parse(tmp_path):
    run = child(tmp_path, "import os\nif True\n    pass\n")
    raised = run.one(Raised)
    assert (raised.type, line(raised)) == ("SyntaxError", 2)
    assert not raised.ours


def test_arguments_that_argparse_misses(tmp_path):
    script = """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--data", required=True)
        parser.parse_args()
    """
    run = child(tmp_path, script)
    raised = run.one(Raised)
    assert (raised.type, raised.missing) == ("SystemExit", "the following arguments are required: --data")
    assert run.one(Ended).status == 2
    assert "usage:" in run.output


def test_writes_to_the_environment_by_the_script_alone(tmp_path):
    script = """
        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"
        os.environ.setdefault("MASTER_PORT", "1")
        os.environ.update({"MASTER_ADDR": "localhost"})
        os.environ |= {"RANK": "0"}
        os.putenv("LOCAL_RANK", "0")
        os.environ["HOME"] = "/nowhere"
        import this_one
    """
    (tmp_path / "project").mkdir()
    library = tmp_path / "project" / "site-packages"
    library.mkdir()
    (library / "this_one.py").write_text("import os\nos.environ['WORLD_SIZE'] = '8'\n")
    run = child(tmp_path, script, environment={"PYTHONPATH": str(library)})
    assert [(event.name, event.value.value, event.fallback, line(event)) for event in run.of(EnvSet)] == [
        ("CUDA_VISIBLE_DEVICES", "0", False, 3),
        ("MASTER_PORT", "1", True, 4),
        ("MASTER_ADDR", "localhost", False, 5),
        ("RANK", "0", False, 6),
        ("LOCAL_RANK", "0", False, 7),
    ]


def test_absent_modules_that_are_imported_and_not_used(tmp_path):
    script = """
        import apex
        from apex.parallel import DistributedDataParallel
        import albumentations.pytorch as transforms
        try:
            import horovod.torch as hvd
        except ImportError:
            hvd = None
        assert hvd is None, "a script that is ready for its absence is told of it"
        import wandb
        from tqdm import tqdm, trange
        run = wandb.init(project="x")
        with run:
            wandb.log({"loss": 1.0})
        wandb.config.update({"a": 1})
        assert [n for n in tqdm(range(3), desc="x")] == [0, 1, 2]
        assert len(tqdm([1, 2])) == 2
        bar = trange(2)
        for n in bar:
            bar.set_postfix(loss=n)
        tqdm.write("told")
        print("the end", flush=True)
        apex.amp.initialize(1)
    """
    run = child(tmp_path, script)
    assert "told\nthe end" in run.output
    raised = run.one(Raised)
    assert (raised.type, raised.missing) == ("ModuleNotFoundError", "apex")
    assert line(raised) == 23
    assert not raised.ours
    assert {event.what.split(",")[0] for event in run.of(Substituted)} == {
        "the module apex",
        "the module albumentations",
        "the module wandb",
        "the module tqdm",
    }


def test_a_class_that_derives_from_what_is_absent_uses_it(tmp_path):
    run = child(tmp_path, "import albumentations as A\nclass Flip(A.ImageOnlyTransform):\n    pass\n")
    raised = run.one(Raised)
    assert (raised.missing, line(raised)) == ("albumentations", 2)


def test_an_absent_module_that_nobody_lists_is_missing(tmp_path):
    raised = child(tmp_path, "import a_module_of_my_own\n").one(Raised)
    assert (raised.type, raised.missing) == ("ModuleNotFoundError", "a_module_of_my_own")


def test_names_of_earlier_years(tmp_path):
    script = """
        import collections
        from collections import Iterable, Mapping
        assert issubclass(list, Iterable) and issubclass(dict, collections.Mapping)
        from torch._six import inf, string_classes
        assert inf > 1 and str in string_classes
    """
    torch = tmp_path / "project" / "torch"
    torch.mkdir(parents=True)
    run = child(tmp_path, script)
    assert not run.of(Raised), run.output
    assert {event.what.split(",")[0] for event in run.of(Substituted)} == {
        "collections.Iterable",
        "collections.Mapping",
        "torch._six",
    }


def test_numpys_old_types(tmp_path):
    pytest.importorskip("numpy")
    run = child(tmp_path, "import numpy as np\nassert np.float is float and np.zeros(2, np.bool).dtype == bool\n")
    assert not run.of(Raised), run.output
    assert run.of(Substituted, by="what it stood for")

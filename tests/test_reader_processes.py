"""How processes are started, and what cannot be sent to them."""

import pytest
from reading import only, read

from ddpdoctor.events import ANY_VARIABLE, EnvSet, GroupInit, ProcessStarted

LOCAL = "def main():\n    def train(rank): pass\n    {start}\nmain()\n"


@pytest.mark.parametrize(
    ("start", "method"),
    [
        ("mp.spawn(train, nprocs=2)", "spawn"),
        ("mp.start_processes(train, nprocs=2, start_method='fork')", "fork"),
        ("mp.get_context('forkserver').Process(target=train).start()", "forkserver"),
        ("c = mp.get_context('fork'); P = c.Process; P(target=train).start()", "fork"),
        ("mp.set_start_method('spawn'); mp.Process(target=train).start()", "spawn"),
    ],
)
def test_a_process_is_started_as_its_context_or_the_program_says(tmp_path, start, method):
    event = only(read(tmp_path, LOCAL.format(start=start)).of(ProcessStarted))
    assert event.method == method
    assert event.unpicklable == "train(), which is local to main(),"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mp.spawn(lambda rank: rank, nprocs=2)", "a lambda"),
        ("def train(rank, f): pass\nmp.spawn(train, args=(lambda: 1,), nprocs=2)", "a lambda"),
        ("import functools\nmp.spawn(functools.partial(lambda rank, x: x, x=1), nprocs=2)", "a lambda"),
        ("def train(rank): pass\nmp.spawn(train, nprocs=2)", ""),
        ("class T:\n    def train(self, rank): pass\nmp.spawn(T().train, nprocs=2)", ""),
        (
            "import functools\ndef named(f):\n    @functools.wraps(f)\n    def w(*a): f(*a)\n    return w\n"
            "@named\ndef train(rank): pass\nmp.spawn(train, nprocs=2)",
            "",
        ),
        (
            "def unnamed(f):\n    def w(*a): f(*a)\n    return w\n@unnamed\ndef train(rank): pass\n"
            "mp.spawn(train, nprocs=2)",
            "w(), which is local to unnamed(),",
        ),
    ],
)
def test_what_pickle_cannot_take_along(tmp_path, text, said):
    assert only(read(tmp_path, text).of(ProcessStarted)).unpicklable == said


@pytest.mark.parametrize("write", ["os.environ.update(json.load(open('e')))", "for k, v in e(): os.environ[k] = v"])
def test_a_variable_that_is_not_known_is_written_all_the_same(tmp_path, write):
    assert only(read(tmp_path, f"import json\n{write}\n").of(EnvSet)).name == ANY_VARIABLE


@pytest.mark.parametrize(("arguments", "missing"), [("'nccl'", True), ("'nccl', **json.load(open('e'))", False)])
def test_an_argument_that_keywords_may_hold_is_not_missing(tmp_path, arguments, missing):
    program = read(tmp_path, f"import json\ndist.init_process_group({arguments})\n")
    assert (only(program.of(GroupInit)).group_rank is None) is missing


@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("notebook_launcher(train, (3,), num_processes=2)", 2),
        ("notebook_launcher(lambda: train(3), num_processes=8)", 8),
        ("debug_launcher(train, (3,), 4)", 4),
    ],
)
def test_a_launcher_of_a_notebook_forks_the_ranks(tmp_path, call, count):
    program = read(tmp_path, LAUNCHED + call)
    started = only(program.of(ProcessStarted))
    assert (started.method, started.count.value) == ("fork", count)
    init = only(program.of(GroupInit))
    assert init.process == started.child
    assert init.world_size.value == 3


def test_a_launcher_of_a_notebook_starts_no_ranks_for_one_process(tmp_path):
    program = read(tmp_path, LAUNCHED + "notebook_launcher(train, args=(3,), num_processes=1)")
    assert not program.of(ProcessStarted)
    assert not program.of(GroupInit)


LAUNCHED = """
from accelerate import debug_launcher, notebook_launcher
def train(size):
    dist.init_process_group("gloo", world_size=size)
"""

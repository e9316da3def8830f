"""What the reader makes of the ways out of loops, and of what comes to each rank in its own time."""

import pytest
from reading import only, read

from ddpdoctor.events import LeftLoop
from ddpdoctor.facts.apart import divided_by_rank, own_tests


def ways_out(folder, text):
    """How the loops of a program are left, with the lines of the loops and the number of tests that decide it."""
    program = read(folder, text, head="import torch.distributed\n")
    return [(event.how, event.loop.place.line, len(event.when - event.since)) for event in program.of(LeftLoop)]


def test_what_ends_the_program_is_told_from_what_leaves_a_loop(tmp_path):
    text = "for x in xs():\n    if x: raise ValueError\n    if f(x): exit(1)\n    if g(x): continue\n"
    assert [how for how, _, _ in ways_out(tmp_path, text)] == ["end", "end", "continue"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x in xs():\n    if x: break", [("break", 2, 1)]),
        ("if a():\n    for x in xs():\n        if x: break", [("break", 3, 1)]),
        ("for x in xs():\n    for y in (1, 2):\n        if x: break", []),
        ("for x in xs():\n    for y in ys():\n        if x: break", [("break", 3, 1)]),
        ("def f():\n    for x in xs():\n        for y in ys():\n            if y: return\nf()", [("return", 3, 1)]),
        ("def f(y):\n    if y: return\nfor x in xs():\n    f(x)", []),
        ("x = 1.0\nwhile x > n:\n    x = more()", [("test", 3, 1)]),
        (
            "try:\n    for x in xs():\n        if x: raise ValueError\nexcept ValueError:\n    pass",
            [("raise", 3, 1)],
        ),
        ("try:\n    for x in xs():\n        if x: raise ValueError\nexcept KeyError:\n    pass", [("end", 3, 1)]),
        ("try:\n    for x in xs():\n        if x: raise ValueError\nexcept Exception:\n    raise", [("end", 3, 1)]),
        ("for x in xs():\n    try:\n        if x: raise ValueError\n    except ValueError:\n        pass", []),
        ("def g():\n    for y in ys():\n        yield y\nfor x in g():\n    if x: break", [("break", 5, 1)]),
    ],
)  # fmt: skip
def test_which_loop_is_left_and_what_decides_it(tmp_path, text, expected):
    assert ways_out(tmp_path, f"{text}\n") == expected


LOOP = "for x in loader:\n    loss = model(x).sum()\n    {before}\n    if {test}: break\n"
HEAD = (
    "import signal, time, math, os\n"
    "dist.init_process_group('nccl')\nmodel = DDP(nn.Linear(2, 1))\ndata = make()\nstopped = False\n"
    "loader = DataLoader(data, sampler=DistributedSampler(data))\n"
)


@pytest.mark.parametrize(
    ("before", "test", "own", "by_rank"),
    [
        ("pass", "math.isnan(loss.item())", True, False),
        ("pass", "not torch.isfinite(loss)", True, False),
        ("dist.all_reduce(loss)", "not torch.isfinite(loss)", False, False),
        ("pass", "time.time() > 10", True, False),
        ("pass", "os.path.exists('stop')", True, False),
        ("pass", "dist.get_rank() == 0", False, True),
        ("pass", "x is None", False, False),
        ("pass", "option()", False, False),
        ("flag = dist.get_rank() == 0", "flag and option()", False, True),
        ("flag = torch.tensor(dist.get_rank() == 0); dist.broadcast(flag, 0)", "flag.item()", False, False),
        ("flag = zero()\n    if dist.get_rank() == 0: flag = one()\n    dist.broadcast(flag, 0)", "flag", False, False),
    ],
)
def test_what_each_rank_decides_for_itself(tmp_path, before, test, own, by_rank):
    program = read(tmp_path, HEAD + LOOP.format(before=before, test=test))
    event = only(program.of(LeftLoop))
    decides = event.when - event.since
    assert bool(list(own_tests(program, decides))) is own
    assert (divided_by_rank(decides) is not None) is by_rank


def test_a_signal_handler_changes_variables_and_does_nothing_else(tmp_path):
    program = read(
        tmp_path,
        HEAD
        + "def stop(number, frame):\n    global stopped\n    stopped = True\n"
        + "    dist.destroy_process_group()\n    exit(0)\n"
        + "signal.signal(signal.SIGTERM, stop)\n"
        + LOOP.format(before="pass", test="stopped"),
    )
    event = only(program.of(LeftLoop))
    assert [atom.text for atom in own_tests(program, event.when - event.since)] == ["SIGTERM has come"]
    assert not [one for one in program if type(one).__name__ == "GroupDestroyed"]


@pytest.mark.parametrize(
    ("test", "own"),
    [
        ("loss.requires_grad", False),
        ("x.size(0) < 4", False),
        ("x.shape[0] != 4", False),
        ("len(x) < 4", False),
        ("x.numel() == 0", True),
        ("'label' in x", False),
        ("isinstance(x, dict)", False),
        ("x.sum() == 0", True),
        ("loss.item() < 0.1", True),
        ("reduced(loss) < 0.1", False),
        ("i % 4 == 0", False),
    ],
)
def test_how_a_batch_is_made_up_is_alike_on_all_ranks(tmp_path, test, own):
    program = read(
        tmp_path,
        HEAD
        + "from tools import reduced\ni = 0\n"
        + f"for x in loader:\n    i += 1\n    loss = model(x).sum()\n    if {test}: break\n",
    )
    event = only(program.of(LeftLoop))
    assert bool(list(own_tests(program, event.when - event.since))) is own

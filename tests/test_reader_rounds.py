"""What the reader makes of tests on a loop's count, and in which rounds they hold."""

import pytest
from reading import only, read

from ddpdoctor.condition import as_formula
from ddpdoctor.events import Collective, Forward, GradientsZeroed, SyncSwitched
from ddpdoctor.facts.rounds import Round, counts, happens_now_and_then, holds_in, rounds_in


def rounds_of_the_barrier(folder, text, size=2, length=8):
    """In which rounds of its innermost loop the one barrier of a program is called; ``?`` where that is not known."""
    event = only(read(folder, text).of(Collective))
    loop = event.loops[-1].place
    answers = [holds_in(as_formula(event.when), Round(loop, i, size, length)) for i in range(length)]
    return "".join({True: "x", False: ".", None: "?"}[answer] for answer in answers)


@pytest.mark.parametrize(
    ("loop", "test", "expected"),
    [
        ("for i in range(8):", "i % 4 == 3", "...x...x"),
        ("for i in range(8):", "(i + 1) % n == 0", ".x.x.x.x"),
        ("for i in range(8):", "not (i + 1) % 3", "..x..x.."),
        ("for i in tqdm.trange(8, desc='steps'):", "(i + 1) % n == 0", ".x.x.x.x"),
        ("for i in range(2, 10):", "i % 4 == 0", "..x...x."),
        ("for i in range(0, 16, 2):", "i % 4 == 0", "x.x.x.x."),
        ("for i, x in enumerate(things, 1):", "i % 3 == 0", "..x..x.."),
        ("for i, x in enumerate(things):", "(i + 1) % 3 == 0 or i + 1 == len(things)", "..x..x.x"),
        ("for i, x in enumerate(things):", "i // n >= 3", "......xx"),
        ("for i, x in enumerate(things):", "i > 0 and i % n == 0", "..x.x.x."),
        ("for i, x in enumerate(things):", "unknown(i)", "????????"),
        ("for x in things:\n    seen += 1", "seen % 4 == 0", "...x...x"),
        ("for x in things:\n    if x: seen += 1", "seen % 4 == 0", "????????"),
        ("while True:\n    seen += 1", "seen % 4 == 0", "...x...x"),
    ],
)
def test_rounds_in_which_a_test_on_the_count_holds(tmp_path, loop, test, expected):
    head, *more = loop.split("\n")
    lines = [
        "import tqdm",
        "n, things = options()",
        "seen = 0",
        head,
        *more,
        f"    if {test}:",
        "        dist.barrier()",
    ]
    assert rounds_of_the_barrier(tmp_path, "\n".join(lines) + "\n") == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [("i % 8 == 7", True), ("i >= 20", False), ("i % n", True), ("i < 3", False), ("i == 0", False)],
)
def test_what_happens_now_and_then(tmp_path, test, expected):
    event = only(
        read(tmp_path, f"for i, x in enumerate(things):\n    if {test}:\n        dist.barrier()\n").of(Collective)
    )
    assert any(counts(as_formula(event.when)))
    assert happens_now_and_then(as_formula(event.when), event.loops[-1]) is expected


@pytest.mark.parametrize(
    ("iterated", "expected"),
    [
        ("range(7)", 7),
        ("range(n)", 2),
        ("range(2, 7)", 5),
        ("range(0, len(things), n)", 4),
        ("enumerate(range(n * 3))", 6),
        ("things", 8),
        ("range(len(things) - 1)", 7),
    ],
)
def test_how_many_rounds_a_loop_has(tmp_path, iterated, expected):
    text = f"n, things = options()\nfor i in {iterated}:\n    dist.barrier()\n"
    event = only(read(tmp_path, text).of(Collective))
    assert rounds_in(event.loops[-1], 2, 8) == expected


def test_a_number_of_rounds_that_is_one_of_several_is_not_known(tmp_path):
    text = "n = 8\nif dist.is_initialized():\n    n //= 2\nfor i in range(n):\n    dist.barrier()\n"
    event = only(read(tmp_path, text).of(Collective))
    assert rounds_in(event.loops[-1], 2, 8) is None


MODEL = "import contextlib\nmodel = DDP(nn.Linear(2, 1))\nother = DDP(nn.Linear(2, 1))\nx = torch.ones(1, 2)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model(x)", [True]),
        ("with model.no_sync():\n    model(x)", [False]),
        ("with other.no_sync():\n    model(x)", [True]),
        ("context = model.no_sync\nwith context():\n    model(x)", [False]),
        ("with (model.no_sync() if flag() else contextlib.nullcontext()):\n    model(x)", [False, True]),
        ("model.require_backward_grad_sync = False\nmodel(x)", [False]),
        ("model.require_backward_grad_sync = False\nmodel.require_backward_grad_sync = True\nmodel(x)", [True]),
        (
            "@contextlib.contextmanager\ndef sync(on):\n    if on:\n        yield\n    else:\n"
            "        with model.no_sync():\n            yield\nwith sync(flag()):\n    model(x)",
            [True, False],
        ),
    ],
)
def test_which_forwards_average_their_gradients(tmp_path, text, expected):
    program = read(tmp_path, f"{MODEL}{text}\n")
    assert [event.synced for event in program.of(Forward)] == expected
    assert bool(program.of(SyncSwitched)) is ("sync" in text)


def test_what_sets_gradients_to_zero(tmp_path):
    text = "optimizer = torch.optim.SGD(model.parameters())\noptimizer.zero_grad()\nmodel.zero_grad(set_to_none=True)\n"
    text += "for p in model.parameters():\n    p.grad = None\n"
    assert len(read(tmp_path, MODEL + text).of(GradientsZeroed)) == 3

"""Odd constants in a program: whatever Python would make of them, the rest of the program is read."""

import ast

import pytest
from reading import read

from ddpdoctor.events import Collective
from ddpdoctor.reader import library
from ddpdoctor.reader.source import MAX_BYTES

ODD = """
None, 1, -1, 2.5, float("inf"), float("nan"), 10**10**10, 1 << 10**9, 10**64**64, "", "abc", "²", "cuda:²", b"ab",
"cuda:" + "9" * 5000, "x" * 10**10, b"x" * 10**10, "\\ud800" * 200, "%d", "%9999999999d", "%*d", "{:>9999999999}",
(), (1, "a", None), [], [1, 2], {}, {"a": 1}, range(10**18), 3j, ..., slice(None, None, 0), int("9" * 5000),
f"{1:9999999999d}", lambda: 0, rank, text, text * 10**10, args.x, open("x"), torch.ones(1), iter([])
"""
CONSTANTS = [ast.unparse(node) for node in ast.parse(f"({ODD})", mode="eval").body.elts] + ["0x" + "f" * 9000]
OPERATORS = "+ - * / // % ** | & ^ << >> @ < <= == is in and or".split()  # noqa: SIM905
TAKEN_WITH = ["z = ({})[{}]", "z = ({})[::{}]", "z = ({})[{}:]", "z = ({}).format({})", "z = {}; z[{}] = 1"]
TAKEN = [
    "z = -({})",
    "z = f'{{{}}}'",
    "a, *b = {}",
    "for q in {}: pass",
    "z = [*{}]",
    "z = {{**({})}}",
    "z = {}; z *= 2",
]
DOUBLED = """
z = [1] -> z = z + z
z = [1] -> z.extend(z)
z = [rank] -> z = [z, z]
z = {1: rank} -> z = {1: z, 2: z}
z = rank -> z = z + z
z = "ab" -> z = z + z
z = text -> z = z + z
z = text -> z = f"{z}{z}"
z = 3 -> z = z * z
z = rank -> z = max(z, z)
z = 10 -> z = z ** 64
z = rank -> z = (z == z)
z = rank -> z = not (z and a)
z = [1] -> z = zip(z, z)
z = b"ab" -> z = z + z
z = rank -> z = int(z)
z = rank -> z = os.environ.get("RANK", z)
z = "aa" -> z = z.replace("a", "aa")
z = a -> z = z.b
"""


def survives(folder, lines):
    """Whether programs with these lines, each of a size that is read, are read to their end."""
    head = "import os, torch, torch.distributed as dist\nrank, text = dist.get_rank(), os.environ['RANK']\n"
    begun = 0
    while begun < len(lines):
        size = ended = 0
        while begun + ended < len(lines) and (size < MAX_BYTES // 8 or not ended):
            size += len(lines[begun + ended])
            ended += 1
        text = "\n".join(lines[begun : begun + ended])
        program = read(folder, f"{text}\ndist.monitored_barrier(timeout=5)\n", head=head)
        if not program.complete or program.of(Collective)[-1].op != "monitored_barrier":
            return False
        begun += ended
    return True


@pytest.mark.parametrize("constant", CONSTANTS, ids=range(len(CONSTANTS)))
def test_every_operator_takes_every_constant(tmp_path, constant):
    pairs = [f"if ({constant}) {sign} ({other}): z = ({constant}) {sign} ({other})"
             for sign in OPERATORS for other in CONSTANTS]  # fmt: skip
    taken = [form.format(constant, other) for form in TAKEN_WITH for other in CONSTANTS]
    lines = [line for line in [*pairs, *taken, *(form.format(constant) for form in TAKEN)] if _parses(line)]
    assert survives(tmp_path, lines)


@pytest.mark.parametrize("method", [False, True])
def test_every_call_that_is_known_takes_every_constant(tmp_path, method):
    leaving = ("exit", "quit", "abort", "context", "callback")
    names = library.METHOD_NAMES if method else library.FUNCTION_NAMES
    calls = [name for name in sorted(names) if not any(word in name for word in leaving)]
    packages = sorted({name.rpartition(".")[0] for name in calls} - {"", "builtins"})
    imports = [f"import {name}" for name in packages if _parses(f"import {name}")]
    for number, constant in enumerate(CONSTANTS):
        other = CONSTANTS[number * 7 % len(CONSTANTS)]
        lines = list(imports)
        for name in calls:
            called = f"({other}).{name.rpartition('.')[2]}" if method else name.removeprefix("builtins.")
            lines += [f"{called}({constant})", f"{called}(1, {constant}, {other})", f"{called}({other}, *[{constant}])"]
        assert survives(tmp_path, [line for line in lines if _parses(line)])


@pytest.mark.parametrize("case", DOUBLED.strip().splitlines())
def test_what_grows_in_every_line_stays_small(tmp_path, case):
    first, _, line = case.partition(" -> ")
    use = [
        "if z: torch.save({}, f'{z}.pt')",
        "for q in z: print(q)",
        "for q, r in z: print(q)",
        "torch.ones(z, device=z)",
    ]
    assert survives(tmp_path, [first, *[line] * 120, *use])


def _parses(line):
    try:
        ast.parse(line)
    except (SyntaxError, ValueError):
        return False
    return True

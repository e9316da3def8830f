"""What reading costs: one script, folders of code, projects of any size.

``pytest -m slow tests/benchmarks`` prints the ratios that the design asks for; nothing here fails by the clock.
``DDPDOCTOR_BENCHMARK`` names further scripts and folders, separated as in ``PATH``.
"""

import importlib.util
import os
import sys
from pathlib import Path

import generated
import pytest
from measuring import ROOT, checking, importing_click, middle, parsing, peak

from ddpdoctor.targets import python_files

pytest.importorskip("pytest_benchmark")

SCRIPT = str(ROOT / "fixtures" / "torchrun" / "train.py")
PAIRS = 15
MEBIBYTES = 28
GIVEN = [path for path in os.environ.get("DDPDOCTOR_BENCHMARK", "").split(os.pathsep) if path]


def test_one_script_against_the_import_of_click(benchmark, say):
    checking(SCRIPT)  # writes the compiled files
    pairs = [(checking(SCRIPT), importing_click()) for _ in range(PAIRS)]
    benchmark.extra_info["times click"] = ratio = middle(pairs)
    say(f"one script: {ratio:.2f} x the import of click (2)")
    benchmark.pedantic(checking, (SCRIPT,), rounds=3)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is looked up in /proc")
def test_the_peak_of_memory_on_one_script(say):
    checking(SCRIPT)
    mebibytes = peak(SCRIPT)
    say(f"one script: {mebibytes:.1f} MiB at the most ({MEBIBYTES})")
    assert mebibytes <= MEBIBYTES


def folders() -> list[str]:
    spec = importlib.util.find_spec("torchvision")
    found = [] if spec is None or spec.origin is None else [str(Path(spec.origin).parent)]
    return found + [path for path in GIVEN if os.path.isdir(path)]


@pytest.mark.parametrize("folder", folders(), ids=os.path.basename)
def test_a_folder_against_parsing_its_files(benchmark, say, folder):
    files = [file for file in python_files(folder) if file.endswith(".py")]
    checking(folder)
    pairs = [(checking(folder), parsing(files)) for _ in range(3)]
    benchmark.extra_info["times parse and walk"] = ratio = middle(pairs)
    seconds = min(pair[0] for pair in pairs)
    say(f"{os.path.basename(folder)}, {len(files)} files: {ratio:.2f} x parse and walk (2.5), {seconds:.2f} s of CPU")
    benchmark.pedantic(checking, (folder,), rounds=1)


@pytest.mark.parametrize("script", [path for path in GIVEN if os.path.isfile(path)], ids=os.path.basename)
def test_a_script_that_was_given(benchmark, say, script):
    checking(script)
    seconds = min(checking(script) for _ in range(3))
    say(f"{script}: {seconds:.2f} s of CPU (1.5)")
    benchmark.pedantic(checking, (script,), rounds=1)


def test_time_is_linear_in_lines(benchmark, say, tmp_path):
    nothing = checking(SCRIPT)
    first = 0.0
    for lines in (1_000, 10_000, 100_000):
        folder = tmp_path / str(lines)
        written = generated.write(folder, lines)
        files = [file for file in python_files(str(folder)) if file.endswith(".py")]
        checked, parsed = checking(str(folder)), parsing(files)
        a_line = max(checked - nothing, 0.001) / written
        first = first or a_line
        say(
            f"a project of {written} lines: {checked:.2f} s of CPU, {peak(str(folder)):.0f} MiB, "
            f"{a_line * 1e6:.0f} us a line ({a_line / first:.2f} x that of the smallest), "
            f"{checked / parsed:.2f} x parse and walk"
        )
    benchmark.pedantic(checking, (str(tmp_path / "1000"),), rounds=1)

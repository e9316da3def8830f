"""Who may import what: the rules that keep the parts apart and the source layer quick to start."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ddpdoctor
from ddpdoctor import registry

PACKAGE = Path(ddpdoctor.__file__).resolve().parent
CHECKS = Path(registry.folder()).resolve()
RUNS = ("ddpdoctor.harness", "ddpdoctor.model")
MANY_FILES = ("ddpdoctor.workers",)  # imported only where there are so many files that it hardly counts
HEAVY = {
    "asyncio", "concurrent", "dataclasses", "hashlib", "importlib.metadata", "logging", "multiprocessing", "pathlib",
    "pickle", "socket", "ssl", "subprocess", "tempfile", "unittest", "urllib.request",
    "typing.NamedTuple", "collections.namedtuple",
}  # fmt: skip
"""Modules of the standard library that take longer to import than a script to read, and what is slow to use: the named
tuples of ``ddpdoctor.named`` take a sixtieth of the time to define."""


def modules() -> Iterator[tuple[str, Path]]:
    """Yield every module of the package and every check, by its dotted name."""
    for folder, package in ((PACKAGE, "ddpdoctor"), (CHECKS, "ddpdoctor.checks")):
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            in_checks = package == "ddpdoctor.checks"
            if (in_checks and parts[-1] != "__init__") or (not in_checks and parts[0] == "checks" and len(parts) > 1):
                continue  # an example program of a check; or, in a wheel, a check that comes by itself
            yield ".".join((package, *(part for part in parts if part != "__init__"))), file


MODULES = dict(modules())


def imports(file: Path, *, at_start: bool = False) -> set[str]:
    """Return the dotted names that a module imports; with ``at_start`` only when it is itself imported."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in _executed_at_import(tree) if at_start else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def _executed_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _executed_at_import(child)


def reaches(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def offenders(inside: tuple[str, ...], forbidden: tuple[str, ...], *, but: tuple[str, ...] = ()) -> list[str]:
    """Return which modules of some packages import what they must not, and what."""
    return [
        f"{module} imports {name}"
        for module, file in MODULES.items()
        if reaches(module, *inside) and not reaches(module, *but)
        for name in sorted(imports(file))
        if reaches(name, *forbidden) and not reaches(name, module)
    ]


def test_the_modules_are_there():
    assert {"ddpdoctor.cli", "ddpdoctor.reader", "ddpdoctor.harness", "ddpdoctor.report.text"} <= set(MODULES)


def test_only_what_runs_scripts_imports_torch():
    assert offenders(("ddpdoctor",), ("torch", "torchvision", "numpy"), but=RUNS) == []


def test_the_harness_does_not_import_torch_in_the_parent():
    lines = "import sys, ddpdoctor.harness; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", lines], text=True) == "False\n"


def test_the_reader_knows_no_other_part():
    others = ("harness", "model", "checks", "report", "engine", "cli", "registry", "ignores", "config")
    assert offenders(("ddpdoctor.reader",), tuple(f"ddpdoctor.{name}" for name in others)) == []


def test_what_runs_scripts_knows_no_other_part():
    others = ("reader", "checks", "report", "engine", "cli", "registry", "ignores", "config")
    assert offenders(RUNS, tuple(f"ddpdoctor.{name}" for name in others)) == []


def test_a_check_sees_traces_only():
    parts = ("reader", "harness", "model", "report", "engine", "cli", "registry", "checks")
    forbidden = ("ast", "tokenize", "torch", *(f"ddpdoctor.{name}" for name in parts))
    assert offenders(("ddpdoctor.checks",), forbidden) == []


def test_only_the_reader_and_the_harness_know_syntax_trees():
    but = ("ddpdoctor.reader", "ddpdoctor.harness")
    assert offenders(("ddpdoctor",), ("ast",), but=but) == []


def test_a_report_does_not_know_the_engine():
    assert offenders(("ddpdoctor.report",), ("ddpdoctor.engine", "ddpdoctor.cli", "ddpdoctor.harness")) == []


@pytest.mark.parametrize("module", [module for module in MODULES if not reaches(module, *RUNS, *MANY_FILES)])
def test_the_source_layer_is_light(module):
    heavy = {name for name in imports(MODULES[module], at_start=True) if reaches(name, *HEAVY)}
    assert not heavy


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """Return the modules that a command has loaded at its end."""
    lines = (
        "import json, sys\n"
        "from ddpdoctor.plain import main\n"
        f"status = main({list(arguments)!r})\n"
        "print('\\n' + json.dumps([status, sorted(sys.modules)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", lines], cwd=cwd, capture_output=True, text=True, check=True)
    status, names = json.loads(done.stdout.splitlines()[-1])
    assert status in (0, 1), done.stdout + done.stderr
    return set(names)


SCRIPT = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def main(rank):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler, shuffle=True)
    model = DistributedDataParallel(model)
    for images, labels in loader:
        model(images).backward()

if __name__ == "__main__":
    torch.multiprocessing.spawn(main, nprocs=2)
"""


def test_source_only_never_imports_torch_nor_what_is_slow(project):
    (project / "train.py").write_text(SCRIPT)
    names = loaded("check", "--source-only", "train.py", cwd=project)
    assert "torch" not in names
    assert "tabulate" not in names
    assert "click" not in names
    with_click = subprocess.check_output(
        [sys.executable, "-c", "import click, json, sys; print(json.dumps(sorted(sys.modules)))"], text=True
    )
    assert {name for name in names - set(json.loads(with_click)) if reaches(name, *HEAVY)} == set()


@pytest.mark.parametrize("arguments", [["--version"], ["explain", "shuffle-with-sampler"]])
def test_what_checks_nothing_loads_neither_reader_nor_engine(project, arguments):
    names = loaded(*arguments, cwd=project)
    assert not {name for name in names if reaches(name, "ddpdoctor.engine", "ddpdoctor.reader", "ddpdoctor.harness")}

"""Several files, folders and projects in one call: what each is checked under, and what the summary says of each."""

import json
from pathlib import Path

import pytest

BOTH = """\
from torch.utils.data import DataLoader, DistributedSampler

sampler = DistributedSampler(data, 2, 0)
loader = DataLoader(data, sampler=sampler, shuffle=True)
"""
ARGUMENT = """\
import argparse
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
dist.init_process_group("gloo", rank=parser.parse_args().local_rank)
dist.destroy_process_group()
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_toml", ".toml")
        file = file if file.suffix else file.with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def two(project: Path) -> Path:
    write(project / "alpha", pyproject_toml='[tool.ddpdoctor]\nignore = ["local-rank-argument"]\n')
    write(project / "alpha", src__train=BOTH, old=ARGUMENT)
    write(project / "beta", pyproject_toml="[tool.ddpdoctor]\nfail-on = 'never'\n", train=ARGUMENT)
    return project


def checks(report: dict) -> set[tuple[str, str]]:
    return {(finding["file"], finding["check"]) for finding in report["findings"] if finding["severity"] != "note"}


def test_each_project_is_checked_under_its_own_configuration(ran, two):
    report = json.loads(ran("check", "--source-only", "--format", "json", ".").out)
    assert checks(report) == {("alpha/src/train.py", "shuffle-with-sampler"), ("beta/train.py", "local-rank-argument")}
    assert [(item["path"], item["configuration"], item["files"]) for item in report["projects"]] == [
        ("alpha", "alpha/pyproject.toml", 2),
        ("beta", "beta/pyproject.toml", 1),
    ]
    assert [item["summary"]["error"] for item in report["projects"]] == [1, 1]
    assert [(item["path"], item["project"]) for item in report["targets"]] == [
        ("alpha/old.py", "alpha"),
        ("alpha/src/train.py", "alpha"),
        ("beta/train.py", "beta"),
    ]
    assert report["summary"]["error"] == 2


def test_each_projects_gate_is_its_own(ran, two):
    assert ran("check", "--source-only", "beta").status == 0
    assert ran("check", "--source-only", "alpha", "beta").status == 1
    assert ran("check", "--source-only", "alpha", "beta", "--fail-on", "never").status == 0


def test_the_text_says_what_was_found_in_each(ran, two):
    lines = ran("check", "--source-only", "alpha", "beta", "--severity", "error").out.splitlines()
    assert lines[-4:] == [
        "alpha: 1 error in 2 files.",
        "beta: 1 error in 1 file.",
        "",
        "2 errors in 3 files (source only).",
    ]
    annotated = ran("check", "--source-only", "alpha", "beta", "--format", "github").out.splitlines()
    assert "beta: 1 error and 1 note in 1 file." in annotated
    assert not [line for line in ran("check", "--source-only", "alpha").out.splitlines() if line.startswith("alpha:")]


def test_folders_that_nothing_marks_as_projects_are_such_when_they_are_named(ran, project):
    write(project / "one", train=BOTH)
    write(project / "two", deep__train=BOTH)
    report = json.loads(ran("check", "--source-only", "--format", "json", "one", "two").out)
    assert [item["path"] for item in report["projects"]] == ["one", "two"]
    report = json.loads(ran("check", "--source-only", "--format", "json", "one/train.py", "two/deep/train.py").out)
    assert [item["path"] for item in report["projects"]] == ["."]


def test_a_repository_is_one_project_and_a_package_in_it_is_none(ran, project):
    write(project / "repo", train=BOTH, package__setup="", package__train=BOTH)
    (project / "repo" / "package" / "__init__.py").write_text("")
    (project / "repo" / ".git").mkdir()
    write(project / "repo", extra__setup="", extra__train=BOTH)
    report = json.loads(ran("check", "--source-only", "--format", "json", ".").out)
    assert {item["path"]: item["files"] for item in report["projects"]} == {"repo": 4, "repo/extra": 2}


def test_a_finding_in_what_two_projects_share_is_one(ran, project):
    loaders = "from torch.utils.data import DataLoader, DistributedSampler\n\n\ndef make(data):\n"
    loaders += "    return DataLoader(data, sampler=DistributedSampler(data, 2, 0), shuffle=True)\n"
    write(project, shared=loaders, alpha__pyproject_toml="", beta__pyproject_toml="")
    for name in ("alpha", "beta"):
        write(project / name, train="from shared import make\n\nloader = make([1, 2])\n")
    report = json.loads(ran("check", "--source-only", "--format", "json", "alpha", "beta").out)
    assert checks(report) == {("shared.py", "shuffle-with-sampler")}
    assert [item["summary"]["error"] for item in report["projects"]] == [1, 1]
    assert report["summary"]["error"] == 1


def test_an_ignore_that_another_project_makes_use_of_is_not_idle(ran, project):
    text = BOTH.replace("True)", "True)  # ddpdoctor: ignore[shuffle-with-sampler]")
    write(project, alpha__pyproject_toml='[tool.ddpdoctor]\nselect = ["unused-ignore", "shuffle-with-sampler"]\n')
    write(project, beta__pyproject_toml="", alpha__loaders="x = 1\n", beta__train=text)
    assert ran("check", "--source-only", ".").out.endswith("\nNo findings in 2 files (source only).\n")


def test_a_configured_ignore_is_idle_only_if_no_part_of_what_it_holds_for_needs_it(ran, project):
    write(project, pyproject_toml='[tool.ddpdoctor]\nignore = ["local-rank-argument"]\n', train="x = 1\n")
    assert "unused-ignore" in ran("check", "--source-only", ".").out
    write(project, vendored__setup="", vendored__train=ARGUMENT)
    assert "unused-ignore" not in ran("check", "--source-only", ".").out


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], {"shuffle-with-sampler", "process-group-not-destroyed"}),
        (["--severity", "error"], {"shuffle-with-sampler"}),
        (["--severity", "note"], {"shuffle-with-sampler", "process-group-not-destroyed"}),
    ],
)
def test_what_is_less_harmful_than_asked_for_is_neither_shown_nor_counted(ran, project, options, shown):
    write(project, train=BOTH + "\nimport torch.distributed as dist\n\ndist.init_process_group('gloo')\n")
    options += ["--select", "shuffle-with-sampler,process-group-not-destroyed"]
    report = json.loads(ran("check", "--source-only", "--format", "json", "train.py", *options).out)
    assert {finding["check"] for finding in report["findings"]} == shown
    assert report["summary"]["warning"] == len(shown) - 1
    assert ran("check", "--source-only", "train.py", *options, "--fail-on", "note").status == 1


def test_the_configuration_says_how_harmful_and_how_certain_too(ran, project):
    write(project, pyproject_toml='[tool.ddpdoctor]\nseverity = "error"\nconfidence = "high"\n', train=BOTH)
    assert "unsharded" not in ran("check", "--source-only", "train.py").out
    write(project, pyproject_toml='[tool.ddpdoctor]\nconfidence = "sure"\n')
    result = ran("check", "--source-only", "train.py")
    assert (result.status, result.err) == (
        2,
        "ddpdoctor: pyproject.toml: [tool.ddpdoctor]: confidence must be one of high, medium, low, not 'sure'\n",
    )


# --- the standard input ----------------------------------------------------------------------------------------------


def test_the_standard_input_goes_by_a_name(command, two):
    result = command("check", "-", "--stdin-filename", "beta/new.py", "--format", "json", cwd=two, input=BOTH)
    report = json.loads(result.out)
    assert result.status == 0, "beta's gate is open"
    assert checks(report) == {("beta/new.py", "shuffle-with-sampler")}
    assert report["projects"][0]["path"] == "beta"


def test_it_is_read_in_the_place_of_the_file_of_that_name_and_sees_its_neighbours(command, project):
    write(project / "src", train="x = 1\n", loaders="def make(data, sampler):\n    return data, sampler\n")
    write(project / "src", loaders=BOTH.partition("\n")[0] + "\n\n\ndef make(data, sampler):\n"
          "    return DataLoader(data, sampler=sampler, shuffle=True)\n")  # fmt: skip
    text = "from loaders import make\nfrom torch.utils.data import DistributedSampler\n\n"
    text += "loader = make([1], DistributedSampler([1]))\n"
    result = command("check", "-", "--stdin-filename", "src/train.py", cwd=project, input=text)
    assert "src/loaders.py:5:12  error  shuffle-with-sampler  " in result.out


def test_it_can_be_a_notebook(command, project):
    book = json.dumps({"cells": [{"cell_type": "code", "source": BOTH}]})
    result = command("check", "-", "--stdin-filename", "book.ipynb", cwd=project, input=book)
    assert "book.ipynb:cell 0:4:10  error  shuffle-with-sampler  " in result.out


def test_a_notebook_is_known_by_its_content_where_nothing_names_it(command, project):
    book = json.dumps({"cells": [{"cell_type": "code", "source": BOTH}]})
    result = command("check", "-", cwd=project, input=book)
    assert "-.ipynb:cell 0:4:10  error  shuffle-with-sampler  " in result.out
    for script in ('{"cells": [1]}.get\n' + BOTH, '{"cells"}\n' + BOTH):
        assert "-:5:10  error  shuffle-with-sampler  " in command("check", "-", cwd=project, input=script).out


def test_a_name_without_a_standard_input_is_wrong_usage(ran, two):
    result = ran("check", "beta", "--stdin-filename", "x.py")
    assert (result.status, result.err) == (
        2,
        "ddpdoctor: --stdin-filename names what is on the standard input: it needs the path '-'\n",
    )


WRONG = "beta/pyproject.toml: [tool.ddpdoctor]: unknown key 'rank'; did you mean 'ranks'?"


@pytest.mark.parametrize(("alpha", "status"), [(BOTH, 1), ("x = 1\n", 2)])
def test_a_configuration_that_cannot_be_used_takes_no_other_project_along(ran, project, alpha, status):
    write(project, alpha__pyproject_toml="", alpha__train=alpha)
    write(project, beta__pyproject_toml="[tool.ddpdoctor]\nrank = 2\n", beta__train=BOTH)
    result = ran("check", "--source-only", "--select", "shuffle-with-sampler", ".")
    assert result.err == f"ddpdoctor: {WRONG}; what it holds for is not checked\n"
    assert (result.status, result.out.count("shuffle-with-sampler")) == (status, status % 2)
    *_, layer, summary = result.out.splitlines()
    assert layer == f"source: failed (beta/train.py): {WRONG}"
    assert summary.endswith("in 2 files; 1 of them was not read (source only).")
    assert ran("check", "--source-only", ".", "--fail-on", "never").status == 2


def test_one_project_with_a_configuration_that_cannot_be_used_is_wrong_usage(ran, project):
    write(project, beta__pyproject_toml="[tool.ddpdoctor]\nrank = 2\n", beta__train=BOTH, train=BOTH)
    result = ran("check", "--source-only", "beta")
    assert (result.status, result.out, result.err) == (2, "", f"ddpdoctor: {WRONG}\n")

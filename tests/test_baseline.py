"""The baseline: what it names is neither shown nor counted, and what it names in vain is said."""

import json
from pathlib import Path

import pytest

HEAD = "from torch.utils.data import DataLoader, DistributedSampler\n\nsampler = DistributedSampler(data)\n"
FAULT = "loader = DataLoader(data, sampler=sampler, shuffle=True)\n"
OPTIONS = ["--source-only", "--select", "shuffle-with-sampler,unused-ignore,syntax-error,process-group-not-destroyed"]
NONE = "No findings in 1 file (source only).\n"


@pytest.fixture
def check(ran, project: Path):
    def run(*arguments: str, options=OPTIONS):
        return ran("check", *options, "--baseline", "known.json", *arguments)

    return run


@pytest.fixture
def script(project: Path, check) -> Path:
    """A script with a fault that the baseline names."""
    file = project / "train.py"
    file.write_text(HEAD + FAULT)
    assert check("train.py", "--write-baseline").status == 0
    return file


def entries(project: Path) -> list[dict]:
    return json.loads((project / "known.json").read_text())["findings"]


def found(result) -> list[tuple[str, int, str]]:
    report = json.loads(result.out)
    return [(finding["file"], finding["line"], finding["check"]) for finding in report["findings"]]


def test_what_is_written_is_known(check, script):
    result = check("train.py")
    assert result == (0, "No findings in 1 file; 1 in the baseline (not counted) (source only).\n", "")
    (entry,) = entries(script.parent)
    assert (entry["check"], entry["file"], entry["line"]) == ("shuffle-with-sampler", "train.py", 4)
    assert json.loads(check("train.py", "--format", "json").out)["summary"]["known"] == 1


def test_it_names_what_is_there_whatever_stands_around_it(check, script):
    script.write_text("import os\n\n\n" + HEAD + "if data:\n    " + FAULT)
    assert check("train.py").status == 0


def test_what_is_new_is_found(check, script):
    script.write_text(HEAD + FAULT + FAULT.replace("loader", "other"))
    result = check("train.py", "--format", "json")
    assert result.status == 1
    assert found(result) == [("train.py", 5, "shuffle-with-sampler")]


def test_the_same_line_again_is_new(check, script):
    script.write_text(HEAD + FAULT + FAULT)
    assert found(check("train.py", "--format", "json")) == [("train.py", 5, "shuffle-with-sampler")]


@pytest.mark.parametrize("text", [HEAD, HEAD + FAULT.replace("True", "False"), None])
def test_an_entry_that_names_nothing_is_said_where_it_stands(check, script, text):
    (script.parent / "other.py").write_text("")
    if text is None:
        script.unlink()
    else:
        script.write_text(text)
    result = check(".", "--format", "json")
    assert result.status == 0
    (note,) = json.loads(result.out)["findings"]
    assert (note["check"], note["severity"], note["file"], note["line"]) == ("unused-ignore", "note", "known.json", 3)
    assert note["message"] == (
        "'shuffle-with-sampler' is no longer found where this entry knows it (train.py): it has no effect"
    )
    assert check(".", "--fail-on", "note").status == 1


def test_an_entry_is_not_judged_where_nobody_looked(check, script, project):
    (project / "other.py").write_text("")
    script.write_text(HEAD)
    assert check("other.py").out == NONE
    assert check("train.py", options=["--source-only", "--select", "unused-ignore"]).out == NONE
    assert check("train.py", "--severity", "warning").out == NONE, "a note is not shown then"
    script.write_text("x = (\n")
    assert "unused-ignore" not in check("train.py").out


def test_what_the_run_alone_could_find_is_not_missed_without_one(check, project):
    (project / "train.py").write_text("import torch.distributed as dist\n\ndist.init_process_group('gloo')\n")
    assert check("train.py", "--write-baseline").status == 0
    (project / "train.py").write_text("")
    assert check("train.py").out == NONE, "the probe can find it where the source does not"


def test_a_new_one_keeps_what_was_not_looked_for_and_drops_what_is_gone(check, script, project):
    (project / "other.py").write_text(HEAD + FAULT)
    assert check("other.py", "--write-baseline").status == 0
    assert [entry["file"] for entry in entries(project)] == ["other.py", "train.py"]
    (project / "other.py").write_text("")
    assert check(".", "--write-baseline").status == 0
    assert [entry["file"] for entry in entries(project)] == ["train.py"]


def test_what_is_less_harmful_than_shown_is_not_written_but_known_once_it_is(check, project):
    (project / "train.py").write_text("import torch.distributed as dist\n\ndist.init_process_group('gloo')\n")
    assert check("train.py", "--write-baseline", "--severity", "error").status == 0
    assert entries(project) == []
    check("train.py", "--write-baseline")
    assert "in the baseline" in check("train.py").out
    assert check("train.py", "--severity", "error").out == NONE


def test_it_does_not_matter_where_a_check_up_is_started(ran, script, project, monkeypatch):
    inner = project / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert ran("check", "--source-only", "../train.py", "--baseline", "../known.json", *OPTIONS[1:]).status == 0


def test_each_project_has_its_known_findings_counted(check, project):
    for name in ("alpha", "beta"):
        (project / name).mkdir()
        (project / name / "pyproject.toml").write_text("")
        (project / name / "train.py").write_text(HEAD + FAULT)
    assert check(".", "--write-baseline").status == 0
    assert [entry["file"] for entry in entries(project)] == ["alpha/train.py", "beta/train.py"]
    report = json.loads(check(".", "--format", "json").out)
    assert [item["summary"]["known"] for item in report["projects"]] == [1, 1]
    assert report["summary"]["known"] == 2


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "there is no file 'known.json'; --write-baseline writes it"),
        ("", "'known.json' is no baseline of ddpdoctor"),
        ("[]", "'known.json' is no baseline of ddpdoctor"),
        ('{"schema": 1, "findings": [{"check": "hang"}]}', "'known.json' is no baseline of ddpdoctor"),
        ('{"schema": 2, "findings": []}', "'known.json' is of another version of ddpdoctor (schema 2, not 1)"),
    ],
)
def test_what_is_no_baseline_is_wrong_usage(check, project, content, line):
    (project / "train.py").write_text("")
    if content is not None:
        (project / "known.json").write_text(content)
    result = check("train.py")
    assert (result.status, result.out, result.err) == (2, "", f"ddpdoctor: --baseline: {line}\n")


def test_a_baseline_without_a_name_is_wrong_usage(ran, project):
    (project / "train.py").write_text("")
    result = ran("check", "train.py", "--baseline", "")
    assert (result.status, result.err) == (2, "ddpdoctor: --baseline needs the name of a file\n")


def test_writing_needs_to_know_where_to(ran, project):
    (project / "train.py").write_text("")
    result = ran("check", "train.py", "--write-baseline")
    assert (result.status, result.err) == (
        2,
        "ddpdoctor: --write-baseline needs --baseline FILE, which says where to\n",
    )
    result = ran("check", "train.py", "--write-baseline", "--baseline", "nowhere/known.json")
    assert (result.status, result.err) == (2, "ddpdoctor: --baseline: there is no folder 'nowhere'\n")


@pytest.mark.parametrize("more", [[], ["--write-baseline"]])
def test_the_report_does_not_take_the_place_of_the_baseline(check, script, more):
    known = script.parent / "known.json"
    before = known.read_text()
    result = check("train.py", "--output", "./known.json", *more)
    line = "ddpdoctor: --output: './known.json' is the baseline: the report needs a file of its own\n"
    assert (result.status, result.out, result.err, known.read_text()) == (2, "", line, before)
    known.unlink()
    assert check("train.py", "--output", "known.json", *more).status == 2

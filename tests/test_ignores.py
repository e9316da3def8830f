"""Ignore comments and configured ignores: what they take away, and what is said of those that take nothing away."""

import json
from pathlib import Path

import pytest

from ddpdoctor import registry
from ddpdoctor.check import Check
from ddpdoctor.checkup import Configuration, Project
from ddpdoctor.finding import Fault, Finding, Severity, refuted
from ddpdoctor.ignores import Found, comments_in, sift
from ddpdoctor.lines import Lines
from ddpdoctor.place import Place

ALL = frozenset({"source", "model", "probe"})


@pytest.fixture(autouse=True)
def checks(rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the three checks, one finds in the source alone, one in the run alone, one in either."""

    def load(name: str) -> Check:
        row = next(row for row in rows if row.name == name)
        return Check(
            name=name,
            summary=row.summary,
            severity=Severity(row.severity),
            triggers=(),
            layers=row.layers,
            predict=None if name == "hang" else lambda predicted: iter(()),
            observe=None if name == "shuffle-with-sampler" else lambda observed: iter(()),
        )

    monkeypatch.setattr(registry, "load", load)


class Checked:
    """A file that is being checked."""

    def __init__(self, file: Path, text: str) -> None:
        self.file = file
        file.write_text(text, encoding="utf-8")

    def finding(self, check: str, line: int, end_line: int | None = None, **more: object) -> Finding:
        place = Place(str(self.file), line, 1, end_line or line, 5)
        return Finding(
            check=check, severity=Severity.ERROR, layer="source", fault=Fault(place=place, message="m"), **more
        )

    def kept(self, *findings: Finding, layers=ALL, configuration=None, whole=False) -> tuple[Finding, ...]:
        project = Project(
            root=str(self.file.parent),
            paths=(str(self.file),),
            configuration=configuration or Configuration(),
            whole=whole,
        )
        (kept,) = sift([Found(project, findings, {str(self.file): layers})], Lines())
        return kept

    def sift(self, *findings: Finding, **more) -> list[tuple[str, int, str]]:
        kept = self.kept(*findings, **more)
        return [(finding.check, finding.fault.place.line, finding.fault.message) for finding in kept]


@pytest.fixture
def checked(project: Path):
    return lambda text, name="train.py": Checked(project / name, text)


def test_a_comment_ignores_what_it_names_on_its_line_alone(checked):
    script = checked("a = 1  # ddpdoctor: ignore[hang]\nb = 2\n")
    kept = script.sift(script.finding("hang", 1), script.finding("shuffle-with-sampler", 1), script.finding("hang", 2))
    assert [(check, line) for check, line, _ in kept] == [("shuffle-with-sampler", 1), ("hang", 2)]


@pytest.mark.parametrize("line", [1, 2, 3])
def test_it_may_stand_on_any_line_of_the_finding(checked, line):
    lines = ["f(", "    1,", ")"]
    lines[line - 1] += "  # ddpdoctor: ignore[hang]"
    script = checked("\n".join(lines))
    assert script.sift(script.finding("hang", 1, 3)) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# ddpdoctor: ignore[hang]",
        "#ddpdoctor:ignore[ hang , shuffle-with-sampler]",
        "# noqa: E501  # ddpdoctor: ignore[shuffle-with-sampler,hang] because rank 1 is slow",
        "# ddpdoctor: ignore [hang]",
    ],
)
def test_how_it_may_be_written(checked, comment):
    script = checked(f"a = 1  {comment}\n")
    assert script.sift(script.finding("hang", 1), script.finding("shuffle-with-sampler", 1))[1:] == []


def test_a_comment_can_hold_for_the_whole_file(checked):
    script = checked("a = 1\nb = 2\n# ddpdoctor: ignore-file[hang]\n")
    assert script.sift(script.finding("hang", 1), script.finding("hang", 2)) == []


def test_words_in_a_string_are_no_comment(checked):
    script = checked('a = "# ddpdoctor: ignore[hang]"\n"""\n# ddpdoctor: ignore-file[hang]\n"""\n')
    assert [line for _, line, _ in script.sift(script.finding("hang", 1))] == [1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(:\n  x = 'open\n    y  # ddpdoctor: ignore[hang]\n", 3),
        ("x = \N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}  # ddpdoctor: ignore[hang]\n", 1),
        ("    x = 1\n  y = 2  # ddpdoctor: ignore[hang]\n", 2),
        ("x = 'open  # ddpdoctor: ignore[hang]\n", 1),
        ("# ddpdoctor: ignore[hang]\nx = (\n", 1),
    ],
)
def test_a_comment_in_a_file_that_does_not_parse_counts(checked, text, line):
    script = checked(text)
    assert script.sift(script.finding("hang", line)) == []
    assert [comment.place.line for comment in comments_in(str(script.file), Lines())] == [line]


def test_a_comment_in_another_file_of_the_project_counts(checked, project):
    module = Checked(project / "model.py", "x = 1  # ddpdoctor: ignore[hang]\n")
    script = checked("import model\n")
    assert script.sift(module.finding("hang", 1)) == []


def test_in_a_notebook_a_comment_holds_for_its_cell(checked, project):
    cells = [["# prose"], ["%time\n", "f()  # ddpdoctor: ignore[hang]\n"], ["f()\n", "f()\n"]]
    kinds = ["markdown", "code", "code"]
    text = json.dumps({"cells": [{"cell_type": k, "source": s} for k, s in zip(kinds, cells, strict=True)]})
    book = checked(text, "book.ipynb")

    def finding(cell: int) -> Finding:
        fault = Fault(place=Place(str(book.file), 2, 1, 2, 4, cell), message="m")
        return Finding(check="hang", severity=Severity.ERROR, layer="source", fault=fault)

    kept = book.kept(finding(1), finding(2))
    assert [each.fault.place.cell for each in kept] == [2]


# --- what ignores nothing -------------------------------------------------------------------------------------------


def test_an_unused_ignore_is_a_note_at_the_comment(checked):
    script = checked("a = 1  # ddpdoctor: ignore[hang, shuffle-with-sampler]\n")
    (note,) = script.kept(script.finding("hang", 1))
    assert (note.check, note.severity, note.layer) == ("unused-ignore", Severity.NOTE, "source")
    assert note.fault.message == "'shuffle-with-sampler' finds nothing on this line: ignoring it has no effect"
    assert note.fault.place == Place(str(script.file), 1, 8, 1, 55)
    assert note.fault.fix.safe


def test_a_refuted_finding_makes_use_of_an_ignore(checked):
    script = checked("a = 1  # ddpdoctor: ignore[hang]\n")
    assert script.sift(script.finding("hang", 1, verdict=refuted("no"))) == []


@pytest.mark.parametrize(
    ("check", "layers", "told"),
    [
        ("shuffle-with-sampler", {"source"}, True),  # only the source finds it, the probe merely judges
        ("missing-set-epoch", {"source"}, False),  # the probe can find it where the source does not
        ("missing-set-epoch", {"source", "model"}, False),
        ("missing-set-epoch", ALL, True),
        ("hang", {"source"}, False),
        ("hang", {"probe"}, True),
        ("shuffle-with-sampler", set(), False),
    ],
)
def test_an_ignore_is_unused_only_where_all_that_could_find_something_was_checked(checked, check, layers, told):
    script = checked(f"a = 1  # ddpdoctor: ignore[{check}]\n")
    assert [name for name, _, _ in script.sift(layers=layers)] == ["unused-ignore"] * told


def test_an_ignore_in_a_file_that_was_not_to_be_checked_is_not_judged(checked, project):
    module = Checked(project / "model.py", "x = 1  # ddpdoctor: ignore[shuffle-with-sampler]\ny = 2\n")
    script = checked("import model\n")
    assert [name for name, _, _ in script.sift(module.finding("hang", 2))] == ["hang"]


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration(select=frozenset({"hang", "unused-ignore"})),
        Configuration(ignore=frozenset({"shuffle-with-sampler"})),
        Configuration(ignore=frozenset({"unused-ignore"})),
    ],
)
def test_an_ignore_of_a_check_that_was_not_asked_is_not_judged(checked, configuration):
    script = checked("a = 1  # ddpdoctor: ignore[shuffle-with-sampler]\n")
    assert script.sift(configuration=configuration) == []


def test_an_unknown_name_is_reported_with_the_nearest(checked):
    script = checked("a = 1  # ddpdoctor: ignore[shufle-with-sampler]\n")
    ((check, line, message),) = script.sift(layers={"source"})
    assert (check, line) == ("unused-ignore", 1)
    assert (
        message == "this comment ignores an unknown check 'shufle-with-sampler'; did you mean 'shuffle-with-sampler'?"
    )


@pytest.mark.parametrize(
    ("comment", "fix"),
    [("ignore", "write ignore[check-name]"), ("ignore-file[ ]", "write ignore-file[check-name]")],
)
def test_a_comment_that_names_no_check_ignores_nothing_and_is_reported(checked, comment, fix):
    script = checked(f"a = 1  # ddpdoctor: {comment}\n")
    kept = script.kept(script.finding("hang", 1))
    assert [(each.check, each.fault.message) for each in kept] == [
        ("hang", "m"),
        ("unused-ignore", "this comment names no check, so it ignores nothing"),
    ]
    assert kept[1].fault.fix.description == fix


def test_unused_ignores_can_be_ignored_by_a_comment(checked):
    script = checked("a = 1  # ddpdoctor: ignore[hang, unused-ignore]\n")
    assert script.sift() == []


def test_prose_that_begins_like_a_comment_of_ours_is_left_alone(checked):
    script = checked("# ddpdoctor: ignored rank\n# ddpdoctor: see the notes\n")
    assert comments_in(str(script.file), Lines()) == ()


# --- the configuration's ignores ------------------------------------------------------------------------------------


@pytest.fixture
def configured(project: Path) -> Configuration:
    file = project / "pyproject.toml"
    file.write_text('[tool.ddpdoctor]\nignore = ["shuffle-with-sampler"]\n')
    return Configuration(
        ignore=frozenset({"shuffle-with-sampler"}), file=str(file), ignored_there={"shuffle-with-sampler": 2}
    )


def test_the_configuration_ignores(checked, configured):
    script = checked("a = 1\n")
    assert script.sift(script.finding("shuffle-with-sampler", 1), configuration=configured, whole=True) == []


def test_a_configured_ignore_that_ignores_nothing_in_the_whole_project_is_reported(checked, configured):
    script = checked("a = 1\n")
    ((check, line, message),) = script.sift(configuration=configured, whole=True, layers={"source"})
    assert (check, line) == ("unused-ignore", 2)
    assert message == "'shuffle-with-sampler' finds nothing in the whole project: ignoring it has no effect"


def test_a_configured_ignore_is_not_judged_by_a_part_of_the_project(checked, configured):
    assert checked("a = 1\n").sift(configuration=configured, layers={"source"}) == []


# --- with the real engine and checks --------------------------------------------------------------------------------

ARGUMENT = """\
import argparse
import torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
dist.init_process_group("gloo", rank=parser.parse_args().local_rank)
dist.destroy_process_group()
"""


@pytest.fixture
def command_sees(command, project: Path):
    def run(*arguments: str) -> list[str]:
        done = command("check", "--source-only", "--format", "json", *arguments, cwd=project)
        assert done.err == ""
        return [finding["check"] for finding in json.loads(done.out)["findings"]]

    return run


def test_the_command_heeds_a_comment(command_sees, project):
    (project / "train.py").write_text(ARGUMENT)
    assert "local-rank-argument" in command_sees("train.py")
    (project / "train.py").write_text(ARGUMENT.replace("int)", "int)  # ddpdoctor: ignore[local-rank-argument]"))
    assert not {"local-rank-argument", "unused-ignore"} & set(command_sees("train.py"))


def test_the_command_heeds_the_configuration_and_says_what_it_need_not_ignore(command_sees, project):
    (project / "pyproject.toml").write_text('[tool.ddpdoctor]\nignore = ["local-rank-argument"]\n')
    (project / "train.py").write_text(ARGUMENT)
    assert not {"local-rank-argument", "unused-ignore"} & set(command_sees("."))
    (project / "train.py").write_text("print('nothing to ignore')\n")
    assert command_sees(".") == ["unused-ignore"]
    assert command_sees("train.py") == []
    assert command_sees(".", "--ignore", "local-rank-argument") == []

"""The reports: whole outputs compared with stored ones, and what no example shows."""

import json
import os
import re
from pathlib import Path

import pytest

from ddpdoctor.checkup import Checked, Project, Report, Request, Target
from ddpdoctor.finding import Fault, Finding, Fix, Label, Severity, confirmed, not_reached, refuted
from ddpdoctor.layer import CHECKED, LayerState
from ddpdoctor.place import Place
from ddpdoctor.report import FORMATS, render
from ddpdoctor.report.words import Style

TRAIN = """\
import torch.distributed as dist
from model import loss_of

def main(rank, dataset, model):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler, shuffle=True, num_workers=4, pin_memory=True)
    model = DistributedDataParallel(
        model.cuda(rank),
        device_ids=[rank],
    )
    for images, labels in loader:
        loss = loss_of(model(images), labels)
        if rank == 0:
            dist.all_reduce(loss)
"""
MODEL = "def loss_of(output, labels):\n\treturn criterion(output, labels).backward()\n"
RUN = LayerState(
    state="checked",
    details=(
        "CUDA and NCCL calls were redirected to the CPU and gloo",
        "CIFAR10 is not on this disk: a stand-in of 50000 samples of 3x32x32 took its place",
    ),
)
NOT_ASKED = LayerState(state="not-run", reason="not asked for: --probe runs two ranks for a few steps")


@pytest.fixture
def report(project: Path) -> Report:
    """A report with every kind of finding and verdict."""
    train, model = project / "train.py", project / "model.py"
    train.write_text(TRAIN)
    model.write_text(MODEL)

    def at(line: int, column: int, end_line: int, end_column: int) -> Place:
        return Place(str(train), line, column, end_line, end_column)

    sampler = Finding(
        check="shuffle-with-sampler",
        severity=Severity.ERROR,
        layer="source",
        fault=Fault(
            place=at(7, 14, 7, 110),
            message="this DataLoader gets a sampler and shuffle=True: its constructor raises ValueError on every rank",
            places=(Label(place=at(6, 15, 6, 42), text="the sampler"),),
            fix=Fix(description="leave shuffle out: a DistributedSampler shuffles by itself", safe=True),
        ),
        verdict=confirmed(
            "its constructor raised",
            error="ValueError: sampler option is mutually exclusive with shuffle",
            ranks=(0, 1),
        ),
    )
    deadlock = Finding(
        check="rank-conditional-collective",
        severity=Severity.ERROR,
        layer="source",
        fault=Fault(
            place=at(15, 13, 15, 34),
            message=f"rank 0 waits in all_reduce ({train}:15); the other ranks never call it",
            places=(
                Label(place=at(14, 12, 14, 21), text="only rank 0 comes here"),
                Label(place=Place(str(model), 2), text="the other ranks wait here, in the all-reduce of the gradients"),
            ),
            fix=Fix(description="let every rank call it, and only rank 0 use the result"),
        ),
        verdict=confirmed(
            "every rank was blocked for 3.1 s",
            waiting={"rank 0": f"all_reduce at {train}:15", "rank 1": Place(str(model), 2)},
        ),
    )
    strides = Finding(
        check="grad-stride-mismatch",
        severity=Severity.NOTE,
        layer="model",
        fault=Fault(
            place=at(8, 13, 11, 6),
            message="PyTorch will print 'Grad strides do not match bucket view strides' for 7 parameters: nominal, "
            "they differ only in dimensions of size 1, which costs nothing",
            subject="features.1.0.block.0.weight",
        ),
        verdict=confirmed(
            "it was printed in step 1",
            parameters=[
                {"name": f"features.{n}.0.block.0.weight", "grad": (49, 1, 7, 1), "view": (49, 49, 7, 1)}
                for n in range(7)
            ],
            copied_bytes=0,
            share=1 / 3,
            ratio=float("inf"),
            healed=False,
        ),
    )
    epoch = Finding(
        check="missing-set-epoch",
        severity=Severity.ERROR,
        layer="source",
        fault=Fault(place=at(12, 5, 12, 34), message="set_epoch is never called: every epoch has the same order"),
        verdict=refuted("epoch 2 had another order", first=range(40), second=range(40, 80)),
    )
    destroy = Finding(
        check="process-group-not-destroyed",
        severity=Severity.WARNING,
        layer="source",
        fault=Fault(place=Place(str(train), 5), message="no path destroys this process group"),
        verdict=not_reached("the run was stopped before its end"),
    )
    layers = {"source": CHECKED, "model": RUN, "probe": NOT_ASKED}
    return alone(Target(path="train.py", layers=layers), findings=(sampler, deadlock, strides, epoch, destroy))


def alone(*targets: Target, findings: tuple[Finding, ...] = ()) -> Report:
    """Return the report of one project, whose folder is the working directory."""
    project = Project(root=os.getcwd(), paths=tuple(os.path.abspath(target.path) for target in targets))
    return Report(version="1.2.3", projects=(Checked(project=project, targets=targets, findings=findings),))


def having(report: Report, findings: tuple[Finding, ...]) -> Report:
    (checked,) = report.projects
    return report.with_(projects=(checked.with_(findings=findings),))


def shown(report: Report, form: str = "text", style: Style = Style(), directory: str | None = None, **more) -> str:  # noqa: B008
    directory = directory or os.getcwd()
    request = Request(projects=(), directory=directory, **more)
    return render(report, request, form, style, {})


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_as_stored(report, stored, form):
    stored(f"report.{form}", shown(report, form))


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_gets_wrapped_text(report, stored, width):
    text = shown(report, style=Style(width=width))
    stored(f"report.{width}.text", text)
    assert max(map(len, text.splitlines())) <= width


def test_colour_changes_nothing_but_the_colour(report, stored):
    text = shown(report, style=Style(colour=True, width=100))
    stored("report.colour.text", text)
    assert re.sub("\x1b\\[[0-9;]*m", "", text) == shown(report, style=Style(width=100))


def test_the_source_alone_as_stored(report, stored):
    findings = tuple(finding.with_(verdict=None) for finding in report.findings if finding.layer == "source")
    stored("report.source-only.text", shown(having(report, findings), source_only=True))


def test_the_json_has_the_keys_of_the_schema_in_their_order(report):
    document = json.loads(shown(report, "json"))
    assert list(document) == ["schema", "version", "projects", "targets", "findings", "summary"]
    assert document["schema"] == 1
    assert list(document["targets"][0]) == ["path", "project", "layers"]
    assert list(document["targets"][0]["layers"]) == ["source", "model", "probe"]
    assert document["targets"][0]["layers"]["source"] == {"state": "checked"}
    assert document["targets"][0]["layers"]["probe"] == {"state": "not-run", "reason": NOT_ASKED.reason}
    for finding in document["findings"]:
        assert list(finding) == [
            "check", "severity", "confidence", "message", "subject", "file", "line", "column", "end_line",
            "end_column", "cell", "places", "layer", "verdict", "fix", "preview", "fingerprint",
        ]  # fmt: skip
        assert list(finding["verdict"]) == ["state", "reason", "evidence"]
    assert list(document["findings"][1]["places"][0]) == ["file", "line", "cell", "label"]
    assert list(document["findings"][1]["fix"]) == ["safe", "description"]
    assert document["summary"] == {
        "error": 2, "warning": 1, "note": 1, "confirmed": 3, "refuted": 1, "not_reached": 1, "not_decided": 0,
        "preview": 0, "known": 0,
    }  # fmt: skip
    assert list(document["summary"]) == [
        "error", "warning", "note", "confirmed", "refuted", "not_reached", "not_decided", "preview", "known",
    ]  # fmt: skip


def test_what_a_run_did_not_judge_has_no_verdict_and_no_fix(report):
    finding = report.findings[4].with_(verdict=None)
    document = json.loads(shown(having(report, (finding,)), "json"))
    assert document["findings"][0]["verdict"] is None
    assert document["findings"][0]["fix"] is None


def test_a_place_of_which_only_the_line_is_known_is_the_whole_line(report):
    finding = json.loads(shown(report, "json"))["findings"][0]
    assert finding["check"] == "process-group-not-destroyed"
    assert (finding["line"], finding["column"], finding["end_line"], finding["end_column"]) == (5, 5, 5, 61)


def test_paths_are_seen_from_the_working_directory(report, project):
    inner = project / "inner"
    inner.mkdir()
    files = [each["file"] for each in json.loads(shown(report, "json", directory=str(inner)))["findings"]]
    assert set(files) == {"../train.py"}
    outer = json.loads(shown(report, "json", directory=str(project.parent)))["findings"][-1]
    assert outer["file"] == f"{project.name}/train.py"
    assert outer["message"] == f"rank 0 waits in all_reduce ({project.name}/train.py:15); the other ranks never call it"
    assert outer["verdict"]["evidence"]["waiting"]["rank 1"] == f"{project.name}/model.py:2"


# --- fingerprints ---------------------------------------------------------------------------------------------------


def fingerprints(report: Report) -> dict[str, str]:
    return {each["check"]: each["fingerprint"] for each in json.loads(shown(report, "json"))["findings"]}


def moved(report: Report, lines: int) -> Report:
    findings = []
    for finding in report.findings:
        place = finding.fault.place
        at = place._replace(line=place.line + lines, end_line=(place.end_line or place.line) + lines)
        findings.append(finding.with_(fault=finding.fault.with_(place=at)))
    return having(report, tuple(findings))


def test_a_fingerprint_outlives_edits_above_and_indentation(report, project):
    before = fingerprints(report)
    text = "# a comment\n\n" + TRAIN.replace("    for images", "        for images")
    (project / "train.py").write_text(text)
    assert fingerprints(moved(report, 2)) == before
    assert len(set(before.values())) == len(before)
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in before.values())


def test_a_fingerprint_changes_with_its_line_its_file_and_its_check(report, project):
    sampler = having(report, report.findings[:1])
    before = fingerprints(sampler)["shuffle-with-sampler"]
    other_check = having(sampler, (sampler.findings[0].with_(check="unsharded-loader"),))
    after = {before, fingerprints(other_check)["unsharded-loader"]}
    (project / "train.py").write_text(TRAIN.replace("batch_size=32", "batch_size=64"))
    after.add(fingerprints(sampler)["shuffle-with-sampler"])
    assert len(after) == 3


def test_equal_lines_are_told_apart_by_their_number(report, project):
    (project / "train.py").write_text("dist.barrier()\n" * 3)
    fault = Fault(place=Place("", 1), message="m")
    findings = tuple(
        Finding(
            check="hang",
            severity=Severity.ERROR,
            layer="probe",
            fault=fault.with_(place=Place(str(project / "train.py"), line, 1, line, 15)),
        )
        for line in (1, 2, 3)
    )
    found = json.loads(shown(having(report, findings), "json"))["findings"]
    assert len({each["fingerprint"] for each in found}) == 3


def test_evidence_is_as_short_as_its_reader_needs(report, project):
    fault = Fault(place=Place(str(project / "train.py"), 1), message="m")
    verdict = confirmed("it was seen", others={}, exception="x" * 5000, ranks=(0,), layers={"1": 8})
    finding = Finding(check="rank-failure", severity=Severity.ERROR, layer="probe", fault=fault, verdict=verdict)
    text = shown(having(report, (finding,)))
    assert "others" not in text
    assert "rank 1" not in text, "a layer of that name is no rank"
    assert max(map(len, text.splitlines())) < 400
    evidence = json.loads(shown(having(report, (finding,)), "json"))["findings"][0]["verdict"]["evidence"]
    assert (evidence["others"], len(evidence["exception"])) == ({}, 5000)


# --- GitHub ---------------------------------------------------------------------------------------------------------


def test_workflow_commands_are_escaped(report, project):
    fault = Fault(place=Place(str(project / "a,b:c.py"), 1), message="50 % of ranks: a, b\nand c")
    finding = Finding(check="hang", severity=Severity.WARNING, layer="probe", fault=fault)
    first = shown(having(report, (finding,)), "github").splitlines()[0]
    assert first == (
        "::warning title=hang,file=a%2Cb%3Ac.py,line=1,endLine=1,col=1,endColumn=2::50 %25 of ranks: a, b and c"
    )


def test_what_a_layer_could_not_do_is_one_plain_line(report):
    state = LayerState(state="not-run", reason="100% full", details=("contained", "redirected"))
    text = shown(alone(Target(path="train.py", layers={"model": state}), findings=report.findings), "github")
    assert text.splitlines()[-1] == "model: not-run (train.py): 100% full; contained; redirected"


def test_annotations_stand_in_the_repositorys_files(report, project):
    request = Request(projects=(), directory=str(project))
    text = render(report, request, "github", Style(), {"GITHUB_WORKSPACE": str(project.parent)})
    assert f"file={project.name}/train.py,line=5" in text
    elsewhere = render(report, request, "github", Style(), {"GITHUB_WORKSPACE": "/somewhere/else"})
    assert "file=train.py,line=5" in elsewhere


def test_a_refuted_finding_is_no_annotation(report):
    text = shown(report, "github")
    assert text.count("\n::") + text.startswith("::") == 4
    assert "1 refuted (not counted)" in text


# --- text -----------------------------------------------------------------------------------------------------------


def one(project: Path, code: str, place: tuple[int, int, int, int], message: str = "m", **more) -> Report:
    (project / "train.py").write_bytes(code.encode())
    fault = Fault(place=Place(str(project / "train.py"), *place), message=message, **more)
    finding = Finding(check="hang", severity=Severity.ERROR, layer="probe", fault=fault)
    return alone(Target(path="train.py", layers={"source": CHECKED}), findings=(finding,))


def code(text: str) -> list[str]:
    return [line for line in text.splitlines() if " | " in line]


@pytest.mark.parametrize(
    ("line", "span", "marked"),
    [
        ("\tx = f(a)", (6, 10), "f(a)"),
        ("x = '\N{CJK UNIFIED IDEOGRAPH-6F22}'; f(a)", (10, 14), "f(a)"),
        ("e\N{COMBINING ACUTE ACCENT} = f(a)", (6, 10), "f(a)"),
        ("x = f(a)\r", (5, 9), "f(a)"),
        ("x = f(a)  \x1b[31m", (5, 9), "f(a)"),
    ],
)
def test_the_marker_stands_under_what_it_marks(project, line, span, marked):
    text = shown(one(project, f"{line}\nnext = 1\n", (1, span[0], 1, span[1])), source_only=True)
    above, below = code(text)[:2]
    start, stop = below.index("^"), below.rindex("^") + 1
    before = above[: above.index(marked)]
    wide = before.count("\N{CJK UNIFIED IDEOGRAPH-6F22}") - before.count("\N{COMBINING ACUTE ACCENT}")
    assert (start, stop - start) == (len(before) + wide, len(marked))
    assert "\x1b" not in text


def test_a_span_of_several_lines_is_marked_to_the_end_of_the_first(project):
    text = shown(one(project, "x = f(\n    1,\n)\n", (1, 5, 3, 2)), source_only=True)
    assert code(text) == ["    1 | x = f(", "      |     ^^"]


def test_a_long_line_is_cut_around_what_is_marked(project):
    line = "x = [" + "1, " * 100 + "fault, " + "2, " * 100 + "]"
    start = line.index("fault") + 1
    text = shown(one(project, line, (1, start, 1, start + 5)), style=Style(width=80), source_only=True)
    above, below = code(text)
    assert len(above) <= 80
    assert above[below.index("^") : below.rindex("^") + 1] == "fault"


@pytest.mark.parametrize("place", [(9, 1, 9, 5), (1, 50, 1, 60), (0, 0, 0, 0)])
def test_a_place_that_is_no_longer_there_is_no_fault(project, place):
    text = shown(one(project, "x = 1\n", place, places=(Label(place=Place("gone.py", 3, 1), text="here"),)))
    assert "train.py:" in text
    assert "here" in text


def test_a_message_cannot_command_the_terminal(project):
    text = shown(one(project, "x = 1\n", (1, 1, 1, 2), message="a \x1b]0;title\x07 b\nc"), source_only=True)
    assert "a \\x1b]0;title\\x07 b c" in text


def test_files_that_a_layer_treated_alike_share_a_row(project):
    def target(name: str, model: LayerState) -> Target:
        return Target(path=name, layers={"source": CHECKED, "model": model})

    failed = LayerState(state="failed", reason="it broke off")
    targets = (target("a.py", NOT_ASKED), target("b.py", NOT_ASKED), target("c.py", failed))
    text = shown(alone(*targets))
    assert [line.split()[:4] for line in text.splitlines()[4:]] == [
        ["source", "checked", "3", "files"],
        ["model", "not-run", "2", "files"],
        ["model", "failed", "c.py", "it"],
    ]


def test_what_a_run_was_like_is_said_of_the_first_layer_it_served(project):
    probe = RUN.with_(state="failed", reason="it took too long")
    layers = {"source": CHECKED, "model": RUN, "probe": probe}
    text = shown(alone(Target(path="a.py", layers=layers)))
    assert text.count("redirected") == 1
    assert text.splitlines()[-2:] == ["probe    failed   it took too long", "                  the same run as model"]


def test_a_source_that_was_not_read_is_said_without_a_table(project):
    layers = {"source": LayerState(state="failed", reason="it cannot be read")}
    report = alone(Target(path="a.py", layers=layers))
    assert shown(report, source_only=True) == (
        "source: failed (a.py): it cannot be read\nNo findings in 1 file; it was not read (source only).\n"
    )


def test_a_long_line_is_clipped_around_the_place_where_there_is_no_terminal(project):
    train = project / "train.py"
    train.write_text(f"x = [{'1, ' * 9000}bad(), {'1, ' * 9000}]\n")
    found = Finding(
        check="hang",
        severity=Severity.ERROR,
        layer="probe",
        fault=Fault(place=Place(str(train), 1, 27006, 1, 27011), message="it waits"),
    )
    _, code, marker, *_ = shown(
        alone(Target(path="train.py", layers={"source": CHECKED}), findings=(found,))
    ).splitlines()
    assert len(code) < 220 and code[marker.index("^") : marker.rindex("^") + 1] == "bad()"


def test_paths_in_messages_are_relative_wherever_the_command_runs(project):
    folder, elsewhere = project / "src", project / "runs"
    folder.mkdir(), elsewhere.mkdir()
    train = folder / "train.py"
    train.write_text("x = 1\n")
    found = Finding(
        check="hang",
        severity=Severity.ERROR,
        layer="probe",
        fault=Fault(place=Place(str(train), 1), message=f"rank 1 waits at {train}:7"),
    )
    files = Project(root=str(folder), paths=(str(train),))
    target = Target(path="../src/train.py", layers={"source": CHECKED})
    report = Report(version="1", projects=(Checked(project=files, targets=(target,), findings=(found,)),))
    text = shown(report, directory=str(elsewhere))
    assert text.startswith("../src/train.py:1:1  error  hang  rank 1 waits at ../src/train.py:7\n")

"""The command line: what it asks of the engine, its exit statuses, and the one line that wrong usage gets."""

import json
import os
import sys
from pathlib import Path

import pytest

from ddpdoctor import __version__
from ddpdoctor.checkup import OwnFault
from ddpdoctor.finding import Confidence, Fault, Finding, Severity, confirmed, refuted
from ddpdoctor.layer import CHECKED, LayerState
from ddpdoctor.place import Place

NOT_RUN = LayerState(state="not-run", reason="torch is not installed")
FAILED = LayerState(state="failed", reason="the run broke off")


@pytest.fixture
def script(project: Path) -> Path:
    file = project / "train.py"
    file.write_text("import torch\nmodel = wrap(model)\n")
    return file


def found(script: Path, severity: Severity = Severity.ERROR, **more: object) -> Finding:
    fault = Fault(place=Place(str(script), 2, 9, 2, 20), message="it is wrong", **more)
    return Finding(check="shuffle-with-sampler", severity=severity, layer="source", fault=fault)


# --- exit statuses --------------------------------------------------------------------------------------------------


def test_nothing_found_is_status_0(ran, engine, script):
    result = ran("check", "train.py")
    assert result.status == 0
    assert result.err == ""
    assert result.out.startswith("No findings in 1 file.")


@pytest.mark.parametrize(
    ("severity", "fail_on", "status"),
    [
        (Severity.ERROR, None, 1),
        (Severity.WARNING, None, 1),
        (Severity.NOTE, None, 0),
        (Severity.NOTE, "note", 1),
        (Severity.WARNING, "error", 0),
        (Severity.ERROR, "error", 1),
        (Severity.ERROR, "never", 0),
    ],
)
def test_fail_on_says_which_findings_make_the_status_1(ran, engine, script, severity, fail_on, status):
    engine.findings = (found(script, severity),)
    options = ["--fail-on", fail_on] if fail_on else []
    assert ran("check", "train.py", *options).status == status


def test_a_refuted_finding_is_shown_and_does_not_fail(ran, engine, script):
    engine.findings = (found(script).with_(verdict=refuted("the opposite was seen")),)
    result = ran("check", "train.py")
    assert result.status == 0
    assert "error (refuted)" in result.out


def test_a_confirmed_finding_fails(ran, engine, script):
    engine.findings = (found(script).with_(verdict=confirmed("it was seen")),)
    assert ran("check", "train.py").status == 1


def test_a_finding_of_low_confidence_is_neither_shown_nor_counted(ran, engine, script):
    engine.findings = (found(script, confidence=Confidence.LOW),)
    result = ran("check", "train.py", "--format", "json")
    assert result.status == 0
    assert json.loads(result.out)["findings"] == []


@pytest.mark.parametrize(
    ("option", "layer", "status"),
    [
        (None, "model", 0),
        (None, "probe", 0),
        ("--run", "model", 3),
        ("--run", "probe", 0),
        ("--probe", "model", 3),
        ("--probe", "probe", 3),
        ("--source-only", "model", 0),
        (None, "source", 3),
    ],
)
def test_a_layer_that_was_asked_for_and_could_not_run_is_status_3(ran, engine, script, option, layer, status):
    engine.layers[layer] = NOT_RUN
    assert ran("check", "train.py", *filter(None, [option])).status == status


@pytest.mark.parametrize("option", [None, "--run", "--probe"])
@pytest.mark.parametrize("layer", ["source", "model", "probe"])
def test_a_layer_that_failed_by_our_own_fault_is_status_3_whoever_asked_for_it(ran, engine, script, option, layer):
    engine.layers[layer] = FAILED
    assert ran("check", "train.py", *filter(None, [option])).status == 3


def test_findings_and_a_layer_that_failed_are_status_1(ran, engine, script):
    engine.layers["probe"] = FAILED
    engine.findings = (found(script),)
    assert ran("check", "train.py", "--probe").status == 1


def test_an_internal_fault_is_named_and_the_rest_reported(ran, engine, script):
    engine.faults = (OwnFault.of(KeyError("rank"), "the check hang"),)
    result = ran("check", "train.py")
    assert result.status == 3
    assert result.err == (
        "ddpdoctor: internal fault: the check hang: KeyError: 'rank'; DDPDOCTOR_TRACEBACK=1 shows more\n"
    )
    assert "No findings in 1 file." in result.out


def test_an_internal_fault_beside_findings_is_status_1(ran, engine, script):
    engine.faults = (OwnFault.of(ValueError("something broke")),)
    engine.findings = (found(script),)
    assert ran("check", "train.py").status == 1


def test_an_engine_that_raises_is_an_internal_fault_in_one_line(ran, engine, script):
    def breaks(voice):
        raise ZeroDivisionError("division\nby zero")

    engine.works = breaks
    result = ran("check", "train.py")
    assert (result.status, result.out) == (3, "")
    assert result.err.startswith("ddpdoctor: internal fault: ZeroDivisionError: division by zero (test_cli.py:")
    assert result.err.count("\n") == 1


def test_the_traceback_of_an_internal_fault_can_be_asked_for(ran, engine, script, monkeypatch):
    def breaks(voice):
        raise ZeroDivisionError

    engine.works = breaks
    monkeypatch.setenv("DDPDOCTOR_TRACEBACK", "1")
    result = ran("check", "train.py")
    assert result.status == 3
    assert "Traceback" in result.err


def test_an_interrupt_is_status_130_and_one_line(ran, engine, script):
    def interrupted(voice):
        raise KeyboardInterrupt

    engine.works = interrupted
    result = ran("check", "train.py")
    assert (result.status, result.out, result.err) == (130, "", "ddpdoctor: interrupted\n")


# --- what is asked of the engine ------------------------------------------------------------------------------------


def test_a_single_script_may_be_run_by_default(ran, engine, script):
    ran("check", "train.py")
    request = engine.request
    assert request.paths == (str(script),)
    assert (request.source_only, request.run, request.probe, request.withheld) == (False, False, False, None)
    configuration = engine.configuration
    assert (configuration.ranks, configuration.steps, configuration.timeout) == (2, 3, 120.0)
    assert configuration.wants("hang")


def test_options_reach_the_engine(ran, engine, script, rows):
    options = "--probe --ranks 4 --steps 5 --timeout 7.5 --select hang,missing-set-epoch --ignore hang"
    ran("check", "train.py", *options.split())
    request, configuration = engine.request, engine.configuration
    assert request.probe
    assert (configuration.ranks, configuration.steps, configuration.timeout) == (4, 5, 7.5)
    assert [name for name in ("hang", "missing-set-epoch", "shuffle-with-sampler") if configuration.wants(name)] == [
        "missing-set-epoch"
    ]


def test_what_stands_after_two_dashes_is_the_scripts(ran, engine, script):
    ran("check", "train.py", "--run", "--", "--run", "--epochs", "3", "--", "x")
    assert engine.request.arguments == ("--run", "--epochs", "3", "--", "x")
    assert engine.request.paths == (str(script),)


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        (["train.py", "other.py"], "several files were named"),
        (["."], "a folder was named"),
        ([], "a folder was named"),
        (["book.ipynb"], "a notebook is only read"),
    ],
)
def test_more_than_a_single_script_is_never_run_by_default(ran, engine, script, paths, why):
    (script.parent / "other.py").write_text("")
    (script.parent / "book.ipynb").write_text('{"cells": []}')
    ran("check", *paths)
    assert engine.request.withheld == why


def test_the_same_script_twice_is_a_single_script(ran, engine, script):
    ran("check", "train.py", "./train.py", script)
    assert engine.request.paths == (str(script),)
    assert engine.request.withheld is None


@pytest.mark.parametrize(
    ("name", "value", "withheld"),
    [
        ("PRE_COMMIT", "1", True),
        ("DDPDOCTOR_SOURCE_ONLY", "1", True),
        ("DDPDOCTOR_SOURCE_ONLY", "0", False),
        ("DDPDOCTOR_SOURCE_ONLY", "", False),
    ],
)
def test_the_environment_can_forbid_what_the_default_runs(ran, engine, script, monkeypatch, name, value, withheld):
    monkeypatch.setenv(name, value)
    ran("check", "train.py")
    assert (engine.request.withheld is not None) == withheld
    ran("check", "train.py", "--run")
    assert engine.request.run


def test_a_folder_means_its_python_files_and_not_those_of_environments(ran, engine, project):
    for name in (
        "b.py", "a.py", "sub/c.py", "book.ipynb", "notes.txt", ".hidden/d.py", "env/pyvenv.cfg", "env/lib/e.py",
        "build/f.py", "dist/__init__.py", "dist/j.py", "node_modules/g.py", "__pycache__/h.py", ".i.py",
    ):  # fmt: skip
        file = project / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("")
    ran("check", ".")
    assert [os.path.relpath(path, project) for path in engine.request.paths] == [
        "a.py",
        "b.py",
        "book.ipynb",
        os.path.join("dist", "__init__.py"),
        os.path.join("dist", "j.py"),
        os.path.join("sub", "c.py"),
    ]


def test_standard_input_is_read_and_never_run(ran, engine, project, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("x = 'ä'\n".encode()), encoding="ascii"))
    result = ran("check", "-")
    assert result.status == 0
    assert engine.request.paths == (str(project / "-"),)
    assert engine.request.standard_input == "x = 'ä'\n".encode()
    assert engine.request.withheld == "the standard input is only read"


# --- wrong usage: status 2 and one line that says what to do ---------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("", "missing command (see ddpdoctor --help)"),
        ("train.py", "unknown command 'train.py'; to check it: ddpdoctor check train.py"),
        ("lst", "unknown command 'lst'; did you mean 'list'?"),
        ("check config.yaml", "'config.yaml' is no Python file: name a script, a notebook or a folder"),
        ("check model.pt", "'model.pt' is a binary file: name a script, a notebook or a folder"),
        ("check train.py --source-only --select hang",
         "--select: hang is seen in a run only: nothing can be found without --probe"),
        ("check nope.py", "there is no file 'nope.py'"),
        ("check empty", "there is no Python file in the folder 'empty'"),
        ("check train.py other.py --run", "--run needs exactly one script, but several files were named"),
        ("check . --probe", "--probe needs exactly one script, but a folder was named"),
        ("check - --probe", "--probe needs exactly one script, but the standard input is only read"),
        ("check . -- x", "the arguments after -- need exactly one script, but a folder was named"),
        ("check - train.py", "'-' (the standard input) cannot be checked together with other paths"),
        ("check train.py --source-only --run", "--source-only and --run contradict each other: leave one out"),
        ("check train.py --source-only --probe", "--source-only and --probe contradict each other: leave one out"),
        ("check train.py --select hagn", "--select: unknown check 'hagn'; did you mean 'hang'?"),
        ("check train.py --ignore hung", "--ignore: unknown check 'hung'; did you mean 'hang'?"),
        ("check train.py --output nowhere/report.txt", "--output: there is no folder 'nowhere'"),
        ("check train.py --output empty", "--output: 'empty' is a folder"),
        ("check train.py --output ./train.py", "--output: './train.py' is what is to be checked"),
        ("check . --output other.py", "--output: 'other.py' is what is to be checked"),
        ("check train.py --output other.py",
         "--output: 'other.py' is there already, and it is no report: name another file"),
        ("check train.py --output pyproject.toml",
         "--output: 'pyproject.toml' is there already, and it is no report: name another file"),
        ("check train.py --output -", "--output needs the name of a file; without it the report goes to the standard "
         "output"),
        ("check train.py --select hang --ignore hang", "--select and --ignore leave no check"),
        ("check train.py --select ,", "--select names no check"),
        ("check train.py --ignore ,", "--ignore names no check"),
        ("check train.py --ranks 1", "--ranks must be a whole number from 2, not 1"),
        ("check train.py --steps 0", "--steps must be a whole number from 1, not 0"),
        ("check train.py --timeout 0", "--timeout must be a number of seconds above 0, not 0.0"),
        ("check train.py --timeout nan", "--timeout must be a number of seconds above 0, not nan"),
        ("check train.py --timeout inf", "--timeout must be a number of seconds above 0, not inf"),
        ("explain hagn", "unknown check 'hagn'; did you mean 'hang'?"),
    ],
)  # fmt: skip
def test_wrong_usage_is_one_line_and_status_2(ran, engine, script, rows, arguments, line):
    for name, content in (("other.py", ""), ("pyproject.toml", ""), ("config.yaml", "lr: 0.1"), ("model.pt", "PK\0")):
        (script.parent / name).write_text(content)
    (script.parent / "empty").mkdir()
    result = ran(*arguments.split())
    assert (result.status, result.out, result.err) == (2, "", f"ddpdoctor: {line}\n")
    assert engine.requests == []


@pytest.mark.parametrize(
    ("arguments", "named", "help_of"),
    [
        ("check train.py --format xml", "'text', 'json', 'github'", "check"),
        ("check train.py --fail-on hints", "'error', 'warning', 'note', 'never'", "check"),
        ("check train.py --ranks 2.5", "'2.5' is not a valid integer", "check"),
        ("check train.py --steps none", "--steps", "check"),
        ("check train.py -m package.train", "name the file of the module", "check"),
        ("check train.py --epochs 3", "The script's own arguments go after --", "check"),
        ("check train.py --sorce-only", "--source-only", "check"),
        ("explain", "CHECK", "explain"),
        ("explain hang hang", "hang", "explain"),
    ],
)
def test_an_option_that_cannot_be_meant_is_one_line_and_status_2(ran, engine, script, rows, arguments, named, help_of):
    result = ran(*arguments.split())
    assert (result.status, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert named in result.err
    assert result.err.endswith(f"(see ddpdoctor {help_of} --help)\n")


def test_a_selected_check_that_only_a_run_shows_is_named_beside_others(ran, engine, script, rows):
    result = ran("check", script, "--source-only", "--select", "hang,missing-set-epoch")
    assert result.err == "ddpdoctor: hang is seen in a run only: not looked for without --probe\n"
    assert ran("check", script, "--probe", "--select", "hang").err == ""


# --- reports and the other commands ---------------------------------------------------------------------------------


def test_the_report_goes_to_a_file_when_one_is_named(ran, engine, script):
    engine.findings = (found(script),)
    result = ran("check", "train.py", "--format", "json", "--output", "report.json")
    assert (result.status, result.out, result.err) == (1, "", "")
    assert json.loads((script.parent / "report.json").read_text())["summary"]["error"] == 1


def test_notices_stay_on_standard_error_and_progress_is_silent_in_a_pipe(ran, engine, script):
    def works(voice):
        voice.progress("step 1 of 3")
        voice.notice("running train.py")

    engine.works = works
    result = ran("check", "train.py", "--format", "json")
    assert result.err == "ddpdoctor: running train.py\n"
    assert json.loads(result.out)["schema"] == 1


def test_the_table_of_layers_is_left_out_when_only_the_source_was_to_be_read(ran, engine, script, monkeypatch):
    monkeypatch.setitem(sys.modules, "tabulate", None)  # importing it would fail
    result = ran("check", "train.py", "--source-only")
    assert (result.status, result.out, result.err) == (0, "No findings in 1 file (source only).\n", "")


def test_the_table_says_why_a_layer_did_not_run(ran, engine, script):
    engine.layers = {"source": CHECKED, "model": NOT_RUN, "probe": NOT_RUN}
    lines = ran("check", "train.py").out.splitlines()
    assert lines[2].split() == ["layer", "state", "what", "was", "done,", "or", "why", "not"]
    assert [line.split(maxsplit=2) for line in lines[4:]] == [
        ["source", "checked"],
        ["model", "not-run", "torch is not installed"],
        ["probe", "not-run", "torch is not installed"],
    ]


def test_version(ran):
    assert ran("--version") == (0, f"ddpdoctor {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["check", "--help"], ["explain", "-h"], ["list", "--help"]])
def test_help_is_status_0(ran, arguments):
    result = ran(*arguments)
    assert result.status == 0
    assert result.out.startswith("Usage: ddpdoctor")
    assert result.err == ""


def test_list_has_a_row_for_every_check(ran, rows):
    result = ran("list")
    assert result.status == 0
    assert [line.split()[0] for line in result.out.splitlines()[2:]] == [row.name for row in rows]
    assert "a rank waits for ever" in result.out

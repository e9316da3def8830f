"""The configuration: where it is found, what it can say, and what wrong ones get."""

import sys
from pathlib import Path

import pytest

from ddpdoctor import config
from ddpdoctor.checkup import Configuration
from ddpdoctor.finding import Severity
from ddpdoctor.status import MisuseError

CHECKS = frozenset({"hang", "shuffle-with-sampler", "missing-set-epoch"})


def load(folder: Path) -> Configuration:
    return config.load(str(folder), lambda: CHECKS)


def test_everything_it_can_say(project):
    (project / "pyproject.toml").write_text(
        '[tool.other]\nignore = ["hang"]\n\n'
        '[tool.ddpdoctor]\nselect = ["hang", "shuffle-with-sampler"]\n'
        'ignore = [\n  "missing-set-epoch",\n  "hang",\n]\n'
        'fail-on = "error"\nrun = false\nranks = 4\nsteps = 10\ntimeout = 60\n'
    )
    loaded = load(project)
    assert loaded.select == {"hang", "shuffle-with-sampler"}
    assert loaded.ignore == {"hang", "missing-set-epoch"}
    assert loaded.fail_on is Severity.ERROR
    assert (loaded.run, loaded.ranks, loaded.steps, loaded.timeout) == (False, 4, 10, 60.0)
    assert loaded.file == str(project / "pyproject.toml")
    assert loaded.ignored_there == {"missing-set-epoch": 7, "hang": 8}
    assert [name for name in sorted(CHECKS) if loaded.wants(name)] == ["shuffle-with-sampler"]
    assert [name for name in sorted(CHECKS) if loaded.asks(name)] == ["hang", "shuffle-with-sampler"]


def test_without_one_the_defaults_hold(project):
    (project / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    loaded = load(project)
    assert (loaded.select, loaded.ignore, loaded.fail_on) == (None, frozenset(), Severity.WARNING)
    assert (loaded.run, loaded.ranks, loaded.steps, loaded.timeout, loaded.file) == (True, 2, 3, 120.0, None)


def test_the_nearest_file_that_has_the_table_counts(project):
    inner = project / "inner" / "deep"
    inner.mkdir(parents=True)
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 3\n")
    (project / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["ddpdoctor"]\n')
    assert load(inner).ranks == 3
    (inner / "pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 5\n")
    assert load(inner).ranks == 5


def test_never_is_no_severity(project):
    (project / "pyproject.toml").write_text('[tool]\nddpdoctor = { fail-on = "never", ignore = ["hang"] }\n')
    assert load(project).fail_on is None
    assert load(project).ignored_there == {"hang": 2}


@pytest.mark.parametrize("text", ["", 'name = "ddpdoctor"\n', '[project.scripts]\nddpdoctor = "ddpdoctor.cli:main"\n'])
def test_a_file_of_other_tools_is_not_parsed(project, text):
    (project / "pyproject.toml").write_text(f"{text}this is not TOML at all = = =\n")
    assert load(project).file is None


@pytest.mark.parametrize(
    "text",
    [
        "[tool.ddpdoctor]\nranks = 3\n",
        "[ tool . 'ddpdoctor' ]\nranks = 3\n",
        '["tool"."ddpdoctor"]\nranks = 3\n',
        "tool.ddpdoctor.ranks = 3\n",
        "[tool]\nddpdoctor = {ranks = 3}\n",
        "[tool]\nddpdoctor.ranks = 3\n",
        "tool = {ddpdoctor = {ranks = 3}}\n",
        "'tool' = {ddpdoctor = {ranks = 3}}\n",
    ],
)
def test_the_table_is_found_however_it_is_written(project, text):
    (project / "pyproject.toml").write_text(f"[project]\nname = 'x'\n{text}" if text[0] == "[" else text)
    assert load(project).ranks == 3


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('selct = ["hang"]', "unknown key 'selct'; did you mean 'select'?"),
        ('select = ["hung"]', "select: unknown check 'hung'; did you mean 'hang'?"),
        ('ignore = ["hung"]', "ignore: unknown check 'hung'; did you mean 'hang'?"),
        ("select = []", "select must be a list of one check name or more, not []"),
        ('select = "hang"', "select must be a list of check names, not 'hang'"),
        ("ignore = [1]", "ignore must be a list of check names, not [1]"),
        ('fail-on = "hint"', "fail-on must be one of error, warning, note, never, not 'hint'"),
        ('run = "no"', "run must be true or false, not 'no'"),
        ("ranks = 1", "ranks must be a whole number from 2, not 1"),
        ("ranks = true", "ranks must be a whole number from 2, not True"),
        ("steps = 0", "steps must be a whole number from 1, not 0"),
        ("steps = 1.5", "steps must be a whole number from 1, not 1.5"),
        ("timeout = 0", "timeout must be a number of seconds above 0, not 0"),
        ("timeout = inf", "timeout must be a number of seconds above 0, not inf"),
    ],
)
def test_what_cannot_be_meant_is_one_line(project, text, line):
    (project / "pyproject.toml").write_text(f"[tool.ddpdoctor]\n{text}\n")
    with pytest.raises(MisuseError) as raised:
        load(project)
    assert str(raised.value) == f"pyproject.toml: [tool.ddpdoctor]: {line}"


@pytest.mark.parametrize("content", [b"[tool.ddpdoctor\n", b"[tool.ddpdoctor]\nranks = 'caf\xe9'\n"])
def test_a_file_that_is_not_toml_is_one_line(project, content):
    (project / "pyproject.toml").write_bytes(content)
    with pytest.raises(MisuseError, match=r"^pyproject.toml is not valid TOML: [^\n]+$"):
        load(project)


def test_a_table_must_be_one(project):
    (project / "pyproject.toml").write_text("[tool]\nddpdoctor = 1\n")
    with pytest.raises(MisuseError, match=r"^pyproject.toml: tool.ddpdoctor must be a table$"):
        load(project)


def test_a_python_without_toml_says_what_to_install(project, monkeypatch):
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 3\n")
    with pytest.raises(MisuseError, match=r"^pyproject.toml: reading it needs tomli: pip install tomli$"):
        load(project)


# --- as the command line uses it ------------------------------------------------------------------------------------


@pytest.fixture
def script(project: Path) -> Path:
    file = project / "src" / "train.py"
    file.parent.mkdir()
    file.write_text("x = 1\n")
    return file


def test_the_command_line_has_the_last_word(ran, engine, script, rows):
    script.parent.joinpath("pyproject.toml").write_text(
        '[tool.ddpdoctor]\nignore = ["hang"]\nselect = ["hang"]\nranks = 4\nfail-on = "never"\ntimeout = 5\n'
    )
    ran("check", script, "--ranks", "3", "--ignore", "missing-set-epoch", "--fail-on", "note")
    configuration = engine.configuration
    assert (configuration.ranks, configuration.timeout, configuration.fail_on) == (3, 5.0, Severity.NOTE)
    assert (configuration.select, configuration.ignore) == ({"hang"}, {"missing-set-epoch"})
    assert configuration.ignored_there == {}


def test_a_file_that_leaves_no_check_is_wrong_usage(ran, engine, script, rows):
    file = script.parent / "pyproject.toml"
    file.write_text('[tool.ddpdoctor]\nignore = ["hang"]\nselect = ["hang"]\n')
    result = ran("check", script)
    assert (result.status, engine.requests) == (2, [])
    assert result.err == "ddpdoctor: src/pyproject.toml: [tool.ddpdoctor]: select and ignore leave no check\n"
    assert ran("check", script, "--probe", "--select", "hang").status == 0


def test_a_check_that_the_command_line_selects_is_not_ignored_by_the_file(ran, engine, script, rows):
    script.parent.joinpath("pyproject.toml").write_text('[tool.ddpdoctor]\nignore = ["hang", "missing-set-epoch"]\n')
    ran("check", script, "--probe", "--select", "hang")
    configuration = engine.configuration
    assert (configuration.select, configuration.ignore) == ({"hang"}, {"missing-set-epoch"})
    assert configuration.wants("hang")
    assert configuration.ignored_there == {}


def test_run_false_keeps_a_script_from_being_run_unasked(ran, engine, script):
    script.parent.joinpath("pyproject.toml").write_text("[tool.ddpdoctor]\nrun = false\n")
    ran("check", script)
    assert engine.request.withheld == "run = false in the configuration: --run runs it all the same"
    ran("check", script, "--probe")
    assert engine.request.probe


def test_each_file_has_the_configuration_that_is_nearest_to_it(ran, engine, project, script):
    other = project / "other" / "train.py"
    other.parent.mkdir()
    other.write_text("")
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 5\n")
    script.parent.joinpath("pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 7\n")
    ran("check", script, other)
    assert [(item.root, item.paths, item.configuration.ranks) for item in engine.request.projects] == [
        (str(script.parent), (str(script),), 7),
        (str(project), (str(other),), 5),
    ]
    ran("check", ".", "--ranks", "3")
    assert [item.configuration.ranks for item in engine.request.projects] == [3, 3]


def test_a_project_without_a_table_has_the_configuration_above_it(ran, engine, project, script):
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\nranks = 5\n")
    (script.parent / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    ran("check", script)
    assert (engine.request.projects[0].root, engine.configuration.ranks) == (str(script.parent), 5)


def test_the_project_is_whole_when_the_folder_of_its_configuration_is_named(ran, engine, project, script):
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\n")
    ran("check", ".")
    assert engine.request.projects[0].whole
    ran("check", "src")
    assert not engine.request.projects[0].whole
    ran("check", script)
    assert not engine.request.projects[0].whole


def test_a_wrong_configuration_is_wrong_usage(ran, engine, project, script, rows):
    (project / "pyproject.toml").write_text("[tool.ddpdoctor]\nrank = 2\n")
    result = ran("check", script)
    assert (result.status, result.out) == (2, "")
    assert result.err == "ddpdoctor: pyproject.toml: [tool.ddpdoctor]: unknown key 'rank'; did you mean 'ranks'?\n"
    assert engine.requests == []

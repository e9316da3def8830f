"""The documents: what is derived is up to date, and everything that a user can type is explained."""

import json
import re
import textwrap
from pathlib import Path

import click
import generate
import pytest

from ddpdoctor import config, registry
from ddpdoctor.check import Check
from ddpdoctor.cli import commands
from ddpdoctor.events import EnvSet
from ddpdoctor.place import Place
from ddpdoctor.report import FORMATS
from ddpdoctor.status import Status
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Constant, Symbol, Value

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SET_UP = (
    "pip install '.[torch]' && ddpdoctor check fixtures/tutorial/train.py --probe",
    "pip install '.[test]' && pytest",
)


@pytest.fixture(scope="module")
def checks() -> list:
    return sorted(registry.discover(), key=lambda check: check.name)


# --- what is written by machine -------------------------------------------------------------------------------------


def test_the_index_is_up_to_date(checks):
    assert (ROOT / "ddpdoctor" / "index.py").read_text(encoding="utf-8") == generate.index(checks), "run `make index`"


def test_the_tables_of_the_readme_are_up_to_date(checks):
    assert generate.readme(README, checks) == README, "run `make index`"


def test_every_check_is_in_the_index_once(checks):
    assert [row.name for row in registry.rows()] == [check.name for check in checks]


def test_every_check_has_a_page_that_begins_with_its_name(checks):
    for check in checks:
        assert registry.page(check.name).startswith(f"# {check.name}\n"), check.name


def test_explain_prints_the_page(ran, checks):
    for check in checks:
        assert ran("explain", check.name) == (0, registry.page(check.name), "")


def test_list_names_every_check(ran, checks):
    result = ran("list")
    assert result.status == 0
    assert [line.split()[0] for line in result.out.splitlines()[2:]] == [check.name for check in checks]


# --- the README -----------------------------------------------------------------------------------------------------


def test_every_command_and_option_is_in_the_readme():
    for name, command in commands.commands.items():
        assert f"ddpdoctor {name}" in README, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for option in parameter.opts:
                    assert f"`{option}" in README, f"{name} {option}"


def test_every_format_status_and_key_is_in_the_readme():
    missing = [form for form in FORMATS if f"--format {form}" not in README]
    missing += [key for key in config.READERS if not re.search(rf"^{key} = ", README, re.MULTILINE)]
    missing += [str(status.value) for status in Status if f"| {status.value} |" not in README]
    assert not missing


def test_the_commands_that_set_it_up_stand_in_the_readme():
    assert [line for line in README.splitlines() if line.startswith("pip install")] == list(SET_UP)


def test_the_gate_runs_the_readmes_test_command():
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f'-c "{SET_UP[1]}"' in gate
    assert "make check" in gate


def test_the_configuration_in_the_readme_is_one(project):
    (block,) = [block for block in blocks("toml") if "[tool.ddpdoctor]" in block]
    (project / "pyproject.toml").write_text(block)
    loaded = config.load(str(project), registry.names)
    assert loaded.file == str(project / "pyproject.toml")


def test_the_json_in_the_readme_is_as_it_is_printed(ran, project):
    (block,) = blocks("json")
    (project / "train.py").write_text(
        "from torch.utils.data import DataLoader, DistributedSampler\n"
        "DataLoader(data, sampler=DistributedSampler(data), shuffle=True)\n"
    )
    printed = json.loads(ran("check", "--source-only", "--format", "json", "train.py").out)
    documented = json.loads(block)
    assert list(documented) == list(printed)
    assert list(documented["findings"][0]) == list(printed["findings"][0])
    assert list(documented["summary"]) == list(printed["summary"])


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_links_lead_somewhere():
    for document in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{document}: {target}"


def test_the_hook_only_reads():
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    (entry,) = re.findall(r"^  entry: (.*)$", hooks, re.MULTILINE)
    assert entry == "ddpdoctor check --source-only"
    assert "additional_dependencies" not in hooks


def test_the_changelog_names_the_version():
    from ddpdoctor import __version__

    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text or f"## [{__version__}]" in text


# --- the output in the README ---------------------------------------------------------------------------------------

OUTPUT = re.compile(
    r"(<!-- output: stored by make accept -->\n\n```\n\$ ddpdoctor (.*?)\n)(.*?)(```\n\n<!-- end of output -->\n)", re.S
)


def alike(text: str) -> str:
    """Return an output without what differs from machine to machine: seconds, and how the run was contained."""
    return re.sub(r"\d+(\.\d+)? s\b", "n s", text).partition("\n\nlayer ")[0]


def test_the_output_in_the_readme_begins_with_what_the_source_shows(command):
    found = OUTPUT.search(README)
    assert found, "the README has lost its output"
    arguments = [argument for argument in found[2].split() if argument != "--probe"]
    finding = command(*arguments, "--source-only", cwd=ROOT).out.split("\n\n")[0]
    code = [line for line in finding.splitlines() if not line.startswith("    fix:")]
    assert found[3].startswith("\n".join(code) + "\n"), "`make accept` stores the output as it is now"


@pytest.mark.slow
def test_the_output_in_the_readme_is_real(command, request):
    found = OUTPUT.search(README)
    assert found, "the README has lost its output"
    result = command(*found[2].split(), cwd=ROOT)
    assert (result.status, result.err) == (1, "")
    if request.config.getoption("--accept"):
        text = README[: found.start()] + found[1] + result.out + found[4] + README[found.end() :]
        (ROOT / "README.md").write_text(text, encoding="utf-8", newline="\n")
    else:
        assert alike(result.out) == alike(found[3]), "`make accept` stores the output as it is now"


# --- CONTRIBUTING ---------------------------------------------------------------------------------------------------


def test_the_check_in_the_contributing_guide_works():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (block,) = [block for block in re.findall(r"^ *```python\n(.*?)^ *```$", text, re.M | re.S) if "CHECK =" in block]
    namespace: dict = {}
    exec(textwrap.dedent(block), namespace)  # noqa: S102  (it is our own document)
    check = namespace["CHECK"]

    def found(value: Value, **more: object) -> list[str]:
        event = EnvSet(place=Place("train.py", 3), name="MASTER_PORT", value=value, **more)
        return [fault.message for fault in check.predict(Predicted([event]))]

    assert isinstance(check, Check)
    assert check.triggers == (EnvSet,)
    assert found(Constant(value="29500")) == ["every job on this machine meets at port 29500: the second one fails"]
    assert found(Constant(value="29500"), fallback=True) == []
    assert found(Symbol(name="args.port")) == []

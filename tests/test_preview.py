"""Preview checks: asked only when somebody asks for them, marked, and without a say in the exit status."""

import json
from pathlib import Path

import pytest

from ddpdoctor import registry
from ddpdoctor.check import Check

PREVIEW = "shuffle-with-sampler"
SCRIPT = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
try:
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler, shuffle=True)
finally:
    dist.destroy_process_group()
"""


@pytest.fixture(autouse=True)
def one_check_is_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, load = registry.rows(), registry.load

    def loaded(name: str) -> Check:
        return load(name).with_(preview=name == PREVIEW)

    monkeypatch.setattr(registry, "rows", lambda: tuple(row._replace(preview=row.name == PREVIEW) for row in rows))
    monkeypatch.setattr(registry, "load", loaded)


@pytest.fixture
def script(project: Path) -> Path:
    file = project / "train.py"
    file.write_text(SCRIPT)
    return file


def test_a_preview_check_is_not_asked(ran, script):
    assert ran("check", "--source-only", "train.py") == (0, "No findings in 1 file (source only).\n", "")


@pytest.mark.parametrize("how", [["--preview"], ["--select", PREVIEW], ["--preview", "--fail-on", "note"]])
def test_one_that_was_asked_for_is_marked_and_fails_no_gate(ran, script, how):
    result = ran("check", "--source-only", "train.py", *how)
    assert result.status == 0
    assert f"train.py:7:14  error (preview)  {PREVIEW}  " in result.out
    assert result.out.endswith("\nNo findings in 1 file; 1 preview finding (not counted) (source only).\n")


@pytest.mark.parametrize("line", ["preview = true", f'select = ["{PREVIEW}"]'])
def test_the_configuration_can_ask_for_it(ran, script, line):
    script.with_name("pyproject.toml").write_text(f"[tool.ddpdoctor]\n{line}\n")
    result = ran("check", "--source-only", "train.py")
    assert result.status == 0
    assert "error (preview)" in result.out


def test_json_says_which_findings_are_preview_and_does_not_count_them_as_errors(ran, script):
    report = json.loads(ran("check", "--source-only", "--preview", "--format", "json", "train.py").out)
    (finding,) = report["findings"]
    assert (finding["severity"], finding["preview"]) == ("error", True)
    assert (report["summary"]["error"], report["summary"]["preview"]) == (0, 1)


def test_an_annotation_says_it_too(ran, script):
    line = ran("check", "--source-only", "--preview", "--format", "github", "train.py").out.splitlines()[0]
    assert line.startswith(f"::notice title={PREVIEW} (preview),file=train.py,line=7")


def test_an_ignore_of_a_check_that_nobody_asked_is_not_called_idle(ran, script):
    script.write_text(SCRIPT.replace("    sampler", f"    pass  # ddpdoctor: ignore[{PREVIEW}]\n    sampler"))
    assert "unused-ignore" not in ran("check", "--source-only", "train.py").out
    assert "unused-ignore" in ran("check", "--source-only", "train.py", "--preview").out


def test_the_list_says_what_each_check_is(ran):
    standings = {line.split()[0]: line for line in ran("list").out.splitlines()[2:]}
    assert " preview " in standings[PREVIEW]
    assert all(" stable " in line for name, line in standings.items() if name != PREVIEW)

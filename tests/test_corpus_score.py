"""The scorer of labelled public scripts: what it counts, and that the labels kept here are well formed."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ddpdoctor import registry

FOLDER = Path(__file__).with_name("corpus")
sys.path.insert(0, str(FOLDER))

import score  # noqa: E402

SCRIPT = """\
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 0:
    dist.barrier()
"""
VALUES = {"present", "absent", "na", "unsure"}
HARM = {"real", "conditional", "latent", "advice", "minor", "benign", "dead"}


def present(line: int, **more: Any) -> dict[str, Any]:
    """Return the label of a fault in the script."""
    return {"v": "present", "file": "train.py", "line": line, "why": "it is there", "harm": "real", **more}


def scored(folder: Path, labels: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    """Score one labelled script."""
    tree = folder / "trees" / "owner+name"
    tree.mkdir(parents=True)
    (tree / "train.py").write_text(SCRIPT)
    rows = [
        {"repo": "owner/name", "commit": "0", "entry": "train.py", "labels": labels},
        {"repo": "owner/absent", "commit": "0", "entry": "train.py", "labels": labels},
    ]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        sys.executable,
        str(FOLDER / "score.py"),
        str(folder / "trees"),
        "--labels",
        str(folder / "labels.jsonl"),
    ]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=60)


def row(output: str, kind: str) -> list[int]:
    """Return the numbers of a kind's row: true positives, false negatives, false positives, placed."""
    line = next(line for line in output.splitlines() if line.startswith(f"{kind} "))
    return [int(part) for part in line.split()[2:]]


def test_what_is_found_missed_and_invented_is_counted(tmp_path: Path) -> None:
    """A label that is met counts for both, one that is missed against recall, an invented one against precision."""
    labels = {"K12": present(6), "K1": present(3, harm="latent"), "K4": {"v": "absent"}}
    run = scored(tmp_path, labels, "--show", "all")
    assert run.returncode == 0, run.stderr
    assert "1 of 2 labelled scripts are checked out, 0 could not be checked" in run.stdout
    assert row(run.stdout, "K12") == [1, 0, 0, 1]
    assert row(run.stdout, "K1") == [0, 1, 0, 0]
    assert row(run.stdout, "K4") == [0, 0, 1, 0]
    assert "fn  K1  owner/name train.py  train.py:3  it is there" in run.stdout
    assert "precision 0.500  recall 0.500  of real harm 1.000  placed 1.000" in run.stdout


def test_a_report_far_from_its_label_is_not_placed(tmp_path: Path) -> None:
    """A fault that is found at another place counts, but not as placed, unless the label names that place too."""
    assert row(scored(tmp_path / "one", {"K12": present(60)}).stdout, "K12") == [1, 0, 0, 0]
    assert row(scored(tmp_path / "two", {"K12": present(60, also=["train.py:5"])}).stdout, "K12") == [1, 0, 0, 1]


def test_what_nobody_would_change_counts_for_neither_side(tmp_path: Path) -> None:
    """Neither a benign fault nor a label that its author was not sure of is held against the tool."""
    labels = {"K12": present(6, harm="benign"), "K4": {"v": "unsure"}, "K3": present(6, harm="dead")}
    output = scored(tmp_path, labels).stdout
    assert [row(output, kind) for kind in ("K12", "K4", "K3")] == [[0, 0, 0, 0]] * 3


def test_a_script_that_gives_no_report_is_broken(tmp_path: Path) -> None:
    """The status says when a script was there and could not be checked."""
    (tmp_path / "labels.jsonl").write_text(json.dumps({"repo": "a/b", "commit": "0", "entry": "x.py", "labels": {}}))
    command = [sys.executable, str(FOLDER / "score.py"), str(tmp_path), "--labels", str(tmp_path / "labels.jsonl")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 1
    assert "0 of 1 labelled scripts are checked out" in run.stdout


def test_every_kind_names_checks_that_exist() -> None:
    """A check that was renamed would score nothing."""
    known = registry.names()
    assert {name for names in score.KINDS.values() for name in names} <= known


def test_the_labels_are_facts_in_one_form() -> None:
    """Every line names a script at a commit, and says of each kind one of four things; a fault has a place."""
    rows = [json.loads(line) for line in (FOLDER / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows
    for label in rows:
        assert {"repo", "commit", "entry", "round", "labels"} <= label.keys(), label["repo"]
        assert label["labels"].keys() <= score.KINDS.keys(), label["repo"]
        for kind, one in label["labels"].items():
            assert one["v"] in VALUES, (label["repo"], kind)
            if one["v"] == "present":
                assert one["file"] and one["line"] and one["harm"] in HARM, (label["repo"], kind)

"""Work spread over processes: in order, the same as in one process, and a process that dies takes one task along."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from ddpdoctor import engine, reader
from ddpdoctor.checkup import Project, Request, Voice
from ddpdoctor.targets import FILES_A_JOB, MOST_JOBS, sensible_jobs
from ddpdoctor.workers import spread

BOTH = """\
from torch.utils.data import DataLoader, DistributedSampler
loader = DataLoader([1], sampler=DistributedSampler([1]), shuffle=True)
"""


def work(task: int) -> tuple[int, int]:
    if task in (7, 23):
        os.kill(os.getpid(), signal.SIGKILL)
    if task == 11:
        os._exit(3)
    return task * task, os.getpid()


def lost(task: int, how: str) -> tuple[int, int]:
    return -1, {"by SIGKILL": 9, "with status 3": 3}[how]


@pytest.mark.parametrize("jobs", [2, 3, 100])
def test_every_task_is_done_once_and_in_order_whatever_dies(jobs):
    done = list(spread(range(40), work, lost, jobs))
    assert [task for task, _ in done] == list(range(40))
    results = {task: result for task, (result, _) in done}
    assert results == {task: -1 if task in (7, 11, 23) else task * task for task in range(40)}
    assert {how for task, (result, how) in done if result == -1} == {9, 3}
    assert os.getpid() not in {process for _, (_, process) in done}


def test_a_spread_that_is_left_leaves_no_process():
    done = spread(range(1000), slow, lost, 2)
    processes = {next(done)[1][1], next(done)[1][1]}
    done.close()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{process}").exists() for process in processes):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def slow(task: int) -> tuple[int, int]:
    time.sleep(0.001)
    return task, os.getpid()


# --- as the engine and the command line use it ----------------------------------------------------------------------


def test_the_report_is_the_same_however_many_read(command, project):
    for number in range(40):
        (project / f"train_{number}.py").write_text(BOTH if number % 3 else "x = (\n")
    (project / "part.py").write_text(BOTH + "  # ddpdoctor: ignore[shuffle-with-sampler, hang]\n")
    alone = command("check", "--source-only", "--format", "json", ".", "--jobs", "1", cwd=project)
    together = command("check", "--source-only", "--format", "json", ".", "--jobs", "3", cwd=project)
    assert (alone.status, alone.err) == (1, "")
    assert together == alone
    assert len(json.loads(alone.out)["findings"]) > 40


def test_a_file_that_kills_the_process_is_named_and_the_others_are_checked(tmp_path, monkeypatch):
    read = reader.read

    def dies_of_one(file: str, *rest: object, **named: object):
        if file.endswith("odd.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return read(file, *rest, **named)

    monkeypatch.setattr(reader, "read", dies_of_one)
    for name in ("a.py", "odd.py", "z.py"):
        (tmp_path / name).write_text(BOTH)
    paths = tuple(str(tmp_path / name) for name in ("a.py", "odd.py", "z.py"))
    project = Project(root=str(tmp_path), paths=paths)
    report = engine.check(Request(projects=(project,), directory=str(tmp_path), source_only=True, jobs=2), Voice())
    assert [target.layers["source"].state for target in report.targets] == ["checked", "failed", "checked"]
    assert [fault.text for fault in report.faults] == [
        "odd.py: RuntimeError: the process that read it was ended by SIGKILL"
    ]
    found = {finding.fault.place.file for finding in report.findings if finding.check == "shuffle-with-sampler"}
    assert found == {paths[0], paths[2]}


def test_few_files_are_read_by_one_process():
    assert sensible_jobs(1) == sensible_jobs(FILES_A_JOB) == 1
    assert 1 <= sensible_jobs(100_000) <= MOST_JOBS


def test_no_process_at_all_is_wrong_usage(ran, project):
    (project / "train.py").write_text("")
    result = ran("check", "train.py", "--jobs", "0")
    assert (result.status, result.err) == (2, "ddpdoctor: --jobs must be a whole number from 1, not 0\n")

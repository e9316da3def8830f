"""What becomes of the layers, and the one line that says why one was not run."""

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from ddpdoctor.events import Raised
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.reasons import no_space
from ddpdoctor.place import Place

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)


def reasons(harness: "Harness", script: str, **fields: object) -> dict[str, tuple[str, str | None]]:
    seen = harness.run(script, **fields)
    return {layer: (state.state, state.reason) for layer, state in seen.layers.items()}


def test_arguments_that_argparse_asks_for_come_with_the_words_to_pass(harness: "Harness") -> None:
    said = reasons(
        harness,
        """
        import sys
        MISSING = "train.py: error: the following arguments are required: -d/--data-dir, EPOCHS"
        sys.exit(2)
        """,
        arguments=("--amp", "a b"),
    )
    assert said["probe"] == (
        "not-run",
        "train.py needs the arguments -d/--data-dir, EPOCHS: pass them after --, as in "
        "`ddpdoctor check train.py --probe -- --amp 'a b' --data-dir DATA_DIR EPOCHS`",
    )
    assert said["model"] == said["probe"]


def test_a_script_that_refuses_its_arguments_says_so(harness: "Harness") -> None:
    said = reasons(
        harness,
        """
        import sys
        MISSING = "argument --size: invalid int value: 'big'"
        sys.exit(2)
        """,
        layers=frozenset({"model"}),
    )
    assert said == {
        "model": (
            "not-run",
            "train.py does not take its arguments as they are (argument --size: invalid int value: 'big'): "
            "pass them after --, as in `ddpdoctor check train.py --run --`",
        )
    }


def test_a_file_that_is_not_there_comes_with_the_words_to_pass(harness: "Harness") -> None:
    said = reasons(harness, "\nopen('data/train.csv')\n")
    assert said["probe"] == (
        "not-run",
        "train.py wants data/train.csv (train.py:2), which is not there: put it there, or pass another path after --, "
        "where the script takes one",
    )


def test_a_file_that_the_script_has_removed_itself_is_not_asked_for(harness: "Harness") -> None:
    said = reasons(harness, "import os\nos.remove('part.csv')\nopen('part.csv')\n", files={"part.csv": ""}, ranks=1)
    assert said["probe"] == (
        "not-run",
        "train.py wants part.csv (train.py:3), which is not there any more: in the run, which changes nothing outside "
        "it, the script has removed it",
    )


def test_arguments_that_were_given_are_not_advised_again(harness: "Harness") -> None:
    script = "import sys\nMISSING = 'unrecognized arguments: --bogus'\nsys.exit(2)\n"
    said = reasons(harness, script, arguments=("--bogus",))
    assert said["probe"] == (
        "not-run",
        "train.py does not take its arguments as they are (unrecognized arguments: --bogus): "
        "change what stands after -- in `ddpdoctor check train.py --probe -- --bogus`",
    )


def test_a_module_that_is_not_installed_is_named(harness: "Harness") -> None:
    said = reasons(harness, "import no_such_module_anywhere\n")
    assert said["model"] == (
        "not-run",
        "train.py imports no_such_module_anywhere (train.py:1), which is not installed here: "
        "install it beside ddpdoctor",
    )


def test_a_file_that_fails_a_rank_after_the_wrap_is_the_scripts_own_failure(harness: "Harness") -> None:
    said = reasons(harness, "child.wrap()\nif RANK: open('checkpoint.pt')\nchild.collective(wait=9)\n")
    assert said["probe"] == ("checked", None)


def test_an_exception_at_import_is_no_finding_of_the_run(harness: "Harness") -> None:
    said = reasons(harness, "import json\njson.loads('{')\n")
    state, reason = said["probe"]
    assert state == "not-run"
    assert reason is not None and reason.startswith("train.py raises JSONDecodeError: Expecting property name")
    assert reason.endswith("before it sets up distributed training")
    assert said["model"][1].endswith("before it wraps a model in DistributedDataParallel")  # type: ignore[union-attr]


def test_a_script_that_fails_before_the_wrap_has_shown_no_training(harness: "Harness") -> None:
    said = reasons(
        harness,
        """\
        from ddpdoctor.place import Place
        from ddpdoctor.value import Ref
        child.say('GroupInit')
        child.say('LoaderBuilt', loader=Ref(type='torch.utils.data.DataLoader', place=Place('train.py', 4)))
        raise ValueError('sampler and shuffle')
        """,
    )
    assert said["model"] == (
        "not-run",
        "train.py raises ValueError: sampler and shuffle (train.py:5) before it wraps a model in "
        "DistributedDataParallel",
    )
    assert said["probe"] == (
        "not-run",
        "train.py raises ValueError: sampler and shuffle (train.py:5) before it comes to its training",
    )
    assert harness.last is not None and harness.last.trace is not None, "what it did show is judged all the same"


def test_a_script_that_fails_when_its_ranks_have_met_shows_no_training(harness: "Harness") -> None:
    script = "child.say('GroupInit')\nchild.collective('init_process_group')\nraise ValueError('RANK expected')\n"
    assert reasons(harness, script)["probe"] == (
        "not-run",
        "train.py raises ValueError: RANK expected (train.py:3) before it comes to its training",
    )
    assert reasons(harness, "child.say('GroupInit')\n")["probe"] == ("checked", None)


def test_words_of_the_scripts_own_are_no_fault_of_the_containments(harness: "Harness") -> None:
    script = """\
        child.wrap()
        child.say("Raised", type="RuntimeError", message="Max retries exceeded while sampling a batch")
        child.say("Ended", how="exception", status=1)
        import os
        os._exit(1)
        """
    assert reasons(harness, script)["probe"] == ("checked", None)
    assert harness.last is not None and harness.last.trace is not None
    assert not any(event.ours for event in harness.last.trace.of(Raised))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys\nsys.exit(0)\n", "train.py ends with status 0 (train.py:1) and never "),
        ("print('nothing')\n", "train.py ends and never "),
        ("print('x'); import sys\nsys.exit(3)\n", "train.py ends with status 3 (train.py:2) and never "),
        ("raise SystemExit('no  GPU')\n", "train.py ends with status 1 (train.py:1), saying 'no GPU', and never "),
    ],
)
def test_a_script_that_never_trains_says_how_it_ended(harness: "Harness", script: str, said: str) -> None:
    states = reasons(harness, script)
    assert states["model"] == ("not-run", said + "wraps a model in DistributedDataParallel")
    assert states["probe"] == ("not-run", said + "sets up distributed training")


AFTER_THE_CUT = """\
    child.wrap()
    child.say("OptimizerStep")
    child.say("Raised", type="KeyError", message="'best'", after_cut=True)
    child.say("Ended", how="exception", status=1)
    import os
    os._exit(1)
    """


def test_what_fails_after_the_cut_is_told_and_is_no_finding(harness: "Harness") -> None:
    said = reasons(harness, AFTER_THE_CUT)
    assert said["model"] == ("checked", None)
    assert said["probe"] == (
        "not-run",
        "train.py raised KeyError: 'best' (train.py:3) after the run had cut its loops short, perhaps because of it",
    )


def test_a_model_whose_step_never_came_was_not_seen(harness: "Harness") -> None:
    said = reasons(harness, "child.wrap()\nraise ValueError('bad batch')\n")
    assert said["model"] == (
        "not-run",
        "train.py raises ValueError: bad batch (train.py:2) before it takes a training step",
    )
    assert said["probe"] == ("checked", None), "rank-failure is found"


def test_ranks_that_wait_in_vain_say_where(harness: "Harness") -> None:
    said = reasons(
        harness, "child.wrap()\nif RANK:\n    child.collective('barrier', wait=60)\nchild.collective(wait=60)\n"
    )
    assert said["model"] == (
        "not-run",
        "the run stands still before train.py takes a training step: rank 0 waits in all_reduce (train.py:4), "
        "rank 1 waits in barrier (train.py:3)",
    )
    assert said["probe"] == ("checked", None)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("1 / 0\n", "train.py raises ZeroDivisionError: division by zero (train.py:2) before it takes a training step"),
        ("child.doing('other work')\n", "train.py ends and never takes a training step"),
    ],
)
def test_a_script_that_ends_after_the_wrap_takes_no_step(harness: "Harness", end: str, said: str) -> None:
    assert reasons(harness, f"child.wrap(steps=False)\n{end}")["model"] == ("not-run", said)


def test_collectives_without_a_wrapped_model_serve_the_probe_alone(harness: "Harness") -> None:
    said = reasons(harness, "child.say('GroupInit')\nchild.collective()\n")
    assert said["probe"] == ("checked", None)
    assert said["model"] == ("not-run", "train.py ends and never wraps a model in DistributedDataParallel")


def test_a_script_that_runs_for_ever_says_what_it_had_come_to(harness: "Harness") -> None:
    state, reason = reasons(harness, "import time\nchild.wrap()\ntime.sleep(99)\n", timeout=1.0)["probe"]
    assert (state, reason) == (
        "not-run",
        "the script had not ended after 1 s, then at train.py:3: --timeout gives it longer",
    )


def test_the_model_layer_is_served_by_a_run_that_time_cut_short(harness: "Harness") -> None:
    said = reasons(harness, "import time\nchild.wrap()\ntime.sleep(99)\n", timeout=1.0)
    assert said["model"] == ("checked", None)


def test_a_child_that_cannot_start_is_told_by_its_last_words(
    harness: "Harness", monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddpdoctor.harness import ordering

    monkeypatch.setattr(ordering, "START", "import sys\nprint('no such thing', file=sys.stderr)\nsys.exit(4)")
    said = reasons(harness, "")
    assert said["probe"] == ("failed", "the observed process ended before the script began: no such thing")
    assert harness.last is not None and harness.last.trace is None


@pytest.mark.parametrize(
    ("exception", "said"),
    [
        (
            "OSError(18, 'Invalid cross-device link')",
            "the script renamed a folder, which the overlay of an ordinary user cannot do (train.py:2)",
        ),
        (
            "RuntimeError('unexpected: Value too large for defined data type')",
            "the script changes a file of another user or group, which the overlay of an ordinary user cannot do "
            "(train.py:2)",
        ),
        (
            "ConnectionError('[Errno 101] Network is unreachable')",
            "the script wants the network, which the run does not have (train.py:2)",
        ),
    ],
)
def test_what_only_the_containment_forbids_is_not_the_scripts_fault(
    harness: "Harness", exception: str, said: str
) -> None:
    states = reasons(harness, f"child.say('GroupInit')\nraise {exception}\n")
    assert states["probe"] == ("not-run", said)
    assert harness.last is not None and harness.last.trace is not None
    raised = harness.last.trace.of(Raised)
    assert {event.rank for event in raised} == {0, 1}
    assert all(event.ours for event in raised)


@pytest.mark.parametrize(
    ("free", "said"),
    [
        (1 << 40, "the script wrote more than the run may write (train.py:2): "),
        (1 << 16, "the temporary folder /full, which holds the run, is full: set TMPDIR to one with more space"),
    ],
)
def test_no_space_left_says_what_is_full(monkeypatch: pytest.MonkeyPatch, free: int, said: str) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("tempfile.tempdir", "/full")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=free))
    plan = Plan(script="/p/train.py", directory="/p", style="torchrun", layers=frozenset({"probe"}))
    raised = Raised(place=Place("/p/train.py", 2), type="OSError", message="[Errno 28] No space left on device")
    assert no_space(raised, plan, 1 << 30).startswith(said)


def test_details_say_what_protected_the_files_and_what_was_put_in_the_place_of_what(harness: "Harness") -> None:
    seen = harness.run(
        """
        from ddpdoctor.value import Constant
        child.wrap()
        if not RANK:
            child.say("DeviceSelected", index=Constant(value=0), how="torch.cuda.set_device")
            child.say("Substituted", what="CIFAR10", by="random images")
        for _ in range(4):
            child.say("OptimizerStep")
        """
    )
    details = seen.layers["probe"].details
    assert details[0].startswith("contained by ")
    assert details[1:] == (
        "calls to CUDA and NCCL went to the CPU and gloo",
        "the training was watched for at most 3 optimizer steps an epoch and 2 epochs: it took 4 steps",
        "random images in the place of CIFAR10",
    )


def test_a_script_that_asks_for_no_gpu_was_not_redirected(harness: "Harness") -> None:
    details = harness.run("child.wrap()\n", layers=frozenset({"model"})).layers["model"].details
    assert details[1:] == ("the training was watched to its first optimizer step, which it did not take",)


def test_what_fails_after_the_first_step_is_told_by_the_model_layer(harness: "Harness") -> None:
    seen = harness.run("child.wrap()\nchild.say('OptimizerStep')\n1 / 0\n", layers=frozenset({"model"}))
    assert seen.layers["model"].state == "checked"
    assert seen.layers["model"].details[-1] == (
        "train.py raised ZeroDivisionError: division by zero (train.py:3) after its first optimizer step: "
        "--probe looks at what comes then"
    )


def test_a_process_that_outlives_the_script_takes_nothing_away_from_what_was_seen(harness: "Harness") -> None:
    seen = harness.run(
        """
        import time
        child.wrap()
        child.say("OptimizerStep")
        child.status["done"] = True
        child.doing("waiting for its thread writer to end")
        time.sleep(60)
        """,
        timeout=3.0,
    )
    assert seen.layers["probe"].state == "checked"
    assert seen.layers["probe"].details[-1] == (
        "the script had come to its end, and its processes had not after 3 s: waiting for its thread writer to end "
        "(train.py:7)"
    )


def test_the_children_know_nothing_of_a_job_around_them(harness: "Harness", monkeypatch: pytest.MonkeyPatch) -> None:
    outer = {
        "RANK": "7",
        "MASTER_ADDR": "10.0.0.1",
        "TORCHELASTIC_RUN_ID": "live",
        "SLURM_JOB_ID": "1",
        "NCCL_DEBUG": "INFO",
        "PET_NNODES": "4",
        "OMPI_COMM_WORLD_RANK": "7",
        "WANDB_MODE": "online",
        "UNTOUCHED": "yes",
    }
    for name, value in outer.items():
        monkeypatch.setenv(name, value)
    seen = harness.run(
        """
        import os, json
        child.say("GroupInit")
        names = ("MASTER_ADDR", "SLURM_JOB_ID", "NCCL_DEBUG", "PET_NNODES", "WANDB_MODE", "HF_HUB_OFFLINE", "UNTOUCHED")
        shown = {name: os.environ.get(name) for name in (*names, "OMPI_COMM_WORLD_RANK", "RANK", "WORLD_SIZE")}
        child.say("Warned", text=json.dumps(shown))
        """,
        style="single",
    )
    import json

    from ddpdoctor.events import Warned

    assert seen.trace is not None
    assert json.loads(seen.trace.of(Warned)[0].text) == {
        **dict.fromkeys(("MASTER_ADDR", "SLURM_JOB_ID", "NCCL_DEBUG", "PET_NNODES", "OMPI_COMM_WORLD_RANK")),
        "RANK": None,
        "WORLD_SIZE": None,
        "WANDB_MODE": "disabled",
        "HF_HUB_OFFLINE": "1",
        "UNTOUCHED": "yes",
    }
    assert os.environ["RANK"] == "7"


def test_torchrun_style_gives_each_rank_its_variables(harness: "Harness") -> None:
    seen = harness.run(
        """
        import os
        child.say("GroupInit")
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR")
        child.say("Warned", text=" ".join(os.environ[name] for name in names))
        assert int(os.environ["MASTER_PORT"]) > 1024 and os.environ["TORCHELASTIC_RUN_ID"]
        """,
        ranks=3,
    )
    from ddpdoctor.events import Warned

    assert seen.trace is not None
    assert sorted(warned.text for warned in seen.trace.of(Warned)) == [
        f"{rank} {rank} 3 3 0 127.0.0.1" for rank in range(3)
    ]
    assert seen.trace.of(Raised) == ()


def test_ranks_that_wait_for_more_than_were_started_are_told_how_many_to_start(harness: "Harness") -> None:
    said = reasons(
        harness,
        """
        from ddpdoctor.value import Constant
        child.say("GroupInit", world_size=Constant(value=4))
        child.collective("init_process_group", wait=60)
        """,
        ranks=2,
    )
    words = "the script waits for 4 ranks and 2 were started: --ranks 4 starts as many"
    assert said == {"model": ("not-run", words), "probe": ("not-run", words)}

"""Experiment trackers: Weights & Biases, TensorBoard, MLflow and their like."""

from ddpdoctor.atom import Formula
from ddpdoctor.condition import all_of, any_of, as_formula, negation
from ddpdoctor.events import TrackerStarted
from ddpdoctor.reader.abstract import NONE, Abstract, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.environment import is_set_to
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

OFF = ("disabled", "noop", "dryrun-disabled")
"""What a tracker's ``mode`` is when it keeps nothing."""
NAMING = frozenset(
    {
        *("log_dir", "logdir", "comment", "filename_suffix", "dir", "name", "id", "run_name", "run_id", "task_name"),
        *(
            "project",
            "project_name",
            "experiment_name",
            "experiment_key",
            "with_id",
            "custom_run_id",
            "run_hash",
            "tags",
        ),
    }
)
"""The arguments that say where a run is kept or what it is called."""
GROUPING = ("group", "job_type")


def _started(walk: Walk, call: Call) -> Abstract:
    made = walk.make(call, NO_TAGS)
    before, here = walk.path, walk.assuming(negation(_is_off(walk, call)))
    if here is not None:
        walk.path = here
        walk.emit(TrackerStarted, call.node, by=call.path, apart=_is_kept_apart(call))
        walk.path = before
    return made


def _is_off(walk: Walk, call: Call) -> Formula:
    """Return the formula under which a tracker keeps nothing: by its mode, or by the environment."""
    mode = call.kwargs.get("mode") or NONE
    disabled = call.kwargs.get("disabled") or NONE
    parts: list[Formula] = [as_formula(when) for when, option in options(mode) if known(option) in OFF]
    parts += [as_formula(when) for when, option in options(disabled) if known(option) is True]
    if call.path.startswith("wandb."):
        parts += [is_set_to(walk, "WANDB_MODE", "disabled"), is_set_to(walk, "WANDB_DISABLED", "true")]
    return any_of(all_of([part]) for part in parts)


def _is_kept_apart(call: Call) -> bool:
    if call.open or any(not is_none(call.kwargs.get(name)) for name in GROUPING):
        return True
    settings = call.kwargs.get("settings")
    if isinstance(settings, Made) and known(settings.kwargs.get("mode")) == "shared":
        return True  # several processes write into one run, as wandb documents it
    named = [value for name, value in call.kwargs.items() if name in NAMING]
    return any("rank" in value.tags for value in (*call.args, *named))


FUNCTIONS = dict.fromkeys(
    (
        "wandb.init",
        "torch.utils.tensorboard.SummaryWriter",
        "torch.utils.tensorboard.writer.SummaryWriter",
        "tensorboardX.SummaryWriter",
        "tensorboardX.writer.SummaryWriter",
        "mlflow.start_run",
        "comet_ml.Experiment",
        "comet_ml.start",
        "neptune.init",
        "neptune.init_run",
        "clearml.Task.init",
        "swanlab.init",
        "trackio.init",
        "aim.Run",
        "dvclive.Live",
    ),
    _started,
)

"""Jobs: functions that a cluster's scheduler or torch's own launcher runs as the ranks, through submitit or elastic."""

import ast

from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.environment import write_variable
from ddpdoctor.reader.library.groups import leaf_of
from ddpdoctor.reader.library.processes import launched, run_child
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

EXECUTORS = tuple(
    f"submitit.{name}"
    for name in ("AutoExecutor", "SlurmExecutor", "LocalExecutor", "DebugExecutor", "helpers.Executor")
)
TASK = ("submitit.JobEnvironment", "submitit.helpers.TorchDistributedEnvironment")
ELASTIC = ("torch.distributed.launcher.api.elastic_launch", "torch.distributed.launcher.elastic_launch")

LEAVES = {
    "local_rank": "local_rank",
    "global_rank": "rank",
    "rank": "rank",
    "num_tasks": "world_size",
    "world_size": "world_size",
    "node": "node",
}
"""What a task knows of itself, by the names of submitit's attributes (``submitit/core/job_environment.py``)."""


def _made(walk: Walk, call: Call) -> Abstract:
    return walk.make(call, NO_TAGS)


def _submit(walk: Walk, call: Call) -> Abstract:
    """``executor.submit(function, *args)``: each task of the job calls the function, in a process of its own."""
    function = call.argument("fn", 0)
    if function is not None:
        _run(walk, function, call._replace(args=call.args[1:]))
    return Opaque("job")


def _map_array(walk: Walk, call: Call) -> Abstract:
    """``executor.map_array(function, *lists)``: a job for each item, of which one stands for all."""
    if call.args:
        items = [one.items[0] if isinstance(one, Items) and one.items else Opaque("item") for one in call.args[1:]]
        _run(walk, call.args[0], call._replace(args=tuple(items), kwargs={}))
    return Opaque("jobs")


def _run(walk: Walk, function: Abstract, call: Call) -> None:
    walk.children += 1
    run_child(walk, f"job {walk.children}", function, call)


def _of_task(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    leaf = LEAVES.get(name)
    return None if leaf is None else leaf_of(f"submitit's {name}", leaf, rank=leaf != "world_size")


def _export(walk: Walk, call: Call) -> Abstract:
    """``TorchDistributedEnvironment().export()``: sets what torch's ``env://`` asks for, and gives itself back."""
    for name, leaf in (("RANK", "rank"), ("LOCAL_RANK", "local_rank"), ("WORLD_SIZE", "world_size")):
        write_variable(walk, Known(name), leaf_of(name, leaf, rank=leaf != "world_size"), call.node)
    for name in ("MASTER_ADDR", "MASTER_PORT", "LOCAL_WORLD_SIZE"):
        write_variable(walk, Known(name), Opaque(f"submitit's {name}"), call.node)
    return call.receiver or Opaque("the task")


def _launch(walk: Walk, call: Call) -> Abstract:
    """``elastic_launch(config, function)(*args)``: starts the ranks as torchrun does, and waits for them."""
    launcher = call.receiver
    assert isinstance(launcher, Made)
    function, config = launcher.argument("entrypoint", 1), launcher.argument("config", 0)
    count = config.argument("nproc_per_node", 2) if isinstance(config, Made) else None
    if function is not None:
        launched(walk, call, function, count or Opaque("as many as the configuration says"))
    return Opaque("what the ranks returned")


FUNCTIONS = {
    **dict.fromkeys((*EXECUTORS, *TASK, *ELASTIC), _made),
    **{path.replace("elastic_launch", "LaunchConfig"): _made for path in ELASTIC},
}
METHODS = {
    **{f"{path}.submit": _submit for path in EXECUTORS},
    **{f"{path}.map_array": _map_array for path in EXECUTORS},
    f"{TASK[1]}.export": _export,
}
ATTRIBUTES = dict.fromkeys(TASK, _of_task)
CALLED = dict.fromkeys(ELASTIC, _launch)

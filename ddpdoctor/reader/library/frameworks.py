"""Frameworks that own parts of the job: what they do for the user is not asked for again."""

import ast

from ddpdoctor.events import FrameworkOwns, LoaderHandedOver, ModelHandedOver
from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, is_none, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.formulas import boolean
from ddpdoctor.reader.iteration import loaders_in
from ddpdoctor.reader.library.groups import leaf_of
from ddpdoctor.reader.library.hooks import STATE, run_callbacks, run_evaluation
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.library.norms import unconverted_norms
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import Expression

ALL = frozenset({"group", "sampler", "epoch", "wrap", "device", "save", "launch"})
DUTIES = {
    "lightning.": ALL,
    "pytorch_lightning.": ALL,
    "lightning_fabric.": ALL - {"epoch", "save"},
    "accelerate.Accelerator": ALL - {"save"},
    "accelerate.accelerator.Accelerator": ALL - {"save"},
    "transformers.Trainer": ALL,
    "transformers.trainer.Trainer": ALL,
    "transformers.Seq2SeqTrainer": ALL,
    "trl.": ALL,
    "deepspeed.initialize": frozenset({"group", "wrap", "sampler"}),
    "deepspeed.init_distributed": frozenset({"group"}),
    "ray.train.": ALL,
    "horovod.": ALL,
    "composer.Trainer": ALL,
    "colossalai.launch": frozenset({"group"}),
    "catalyst.": ALL,
    "mmengine.": ALL,
    "mmcv.runner.": ALL,
    "detectron2.engine.": ALL,
    "fairseq.": ALL,
    "torch_xla.": ALL,
}
_OBJECTS = ("Trainer", "Accelerator", "Fabric", "Lite", "TorchTrainer", "Runner", "DefaultTrainer", "launch")


def _owner(walk: Walk, call: Call) -> Abstract | None:
    last = call.path.rpartition(".")[2]
    duties = next((duties for start, duties in DUTIES.items() if call.path.startswith(start)), None)
    exact = call.path in DUTIES
    if duties is None or not (
        exact or last.endswith(_OBJECTS) or last in ("prepare_model", "prepare_data_loader", "init")
    ):
        return None
    walk.emit(FrameworkOwns, call.node, name=call.path, duties=duties)
    return walk.make(call, frozenset(), call.path)


_RANKS = {
    "is_main_process": ("rank", 0),
    "is_global_zero": ("rank", 0),
    "is_local_main_process": ("local_rank", 0),
    "is_local_zero": ("local_rank", 0),
    "is_world_process_zero": ("rank", 0),
    "is_local_process_zero": ("local_rank", 0),
}


_LEAVES = {
    **dict.fromkeys(("process_index", "global_rank"), "rank"),
    **dict.fromkeys(("local_process_index", "local_rank"), "local_rank"),
    **dict.fromkeys(("num_processes", "world_size"), "world_size"),
}


def rank_flag(walk: Walk, name: str, node: ast.AST) -> Abstract | None:
    """Return a framework's attribute that says which rank this is, whether it is the first, or how many there are."""
    if name in _LEAVES:
        return leaf_of(name, _LEAVES[name], rank=_LEAVES[name] != "world_size")
    if name not in _RANKS:
        return None
    leaf, value = _RANKS[name]
    expression = Expression("==", (Expression(leaf), Expression("constant", (value,))))
    return boolean(walk.literal(f"{leaf} == {value}", "rank", expression, node))


def _attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    return rank_flag(walk, name, node)


def _prepared(walk: Walk, call: Call) -> Abstract | None:
    """``accelerator.prepare(a, b, …)``, ``fabric.setup(…)``, ``fabric.setup_module(…)``: the same objects in order."""
    receiver = call.receiver
    if not isinstance(receiver, Made) or not receiver.path.startswith(("accelerate.", "lightning")) or not call.args:
        return None
    replicates = may_replicate if receiver.path.startswith("accelerate.") else _is_data_parallel
    if replicates(receiver):
        for given in call.args:
            hand_over(walk, call, receiver, given)
    if receiver.path.startswith("accelerate.") and not receiver.open:
        for loader in dict.fromkeys(ref for given in call.args for ref in loaders_in(given)):
            pads = all(is_none(receiver.kwargs.get(name)) for name in EVENNESS)
            walk.emit(LoaderHandedOver, call.node, loader=loader, framework=receiver.path, pads=pads)
    return call.args[0] if len(call.args) == 1 else Items(call.args, "tuple")


def _prepared_alone(walk: Walk, call: Call) -> Abstract | None:
    """``accelerator.prepare_data_loader(loader)``, ``accelerator.prepare_model(model)``: as ``prepare`` does."""
    given = call.args[0] if call.args else next((call.kwargs[name] for name in PREPARED if name in call.kwargs), None)
    return _prepared(walk, call._replace(args=(given,))) if given is not None else None


PREPARED = ("data_loader", "model", "optimizer", "scheduler")
EVENNESS = ("even_batches", "dataloader_config", "kwargs_handlers")
"""What can keep Accelerate from evening batches out (accelerate/data_loader.py: ``BatchSamplerShard``)."""


def _unwrapped(walk: Walk, call: Call) -> Abstract | None:
    """``accelerator.unwrap_model(model)``: the model, which ``prepare`` gave back as it was."""
    receiver = call.receiver
    known_one = isinstance(receiver, Made) and receiver.path.startswith("accelerate.")
    return call.args[0] if known_one and call.args else None


def _fit(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if not isinstance(receiver, Made) or "rainer" not in receiver.path:
        return None
    model = call.argument("model", 0)
    if model is not None and receiver.path in LIGHTNING_TRAINERS:
        if _is_data_parallel(receiver):
            hand_over(walk, call, receiver, model, hidden=True)
        if _has_several_ranks(receiver):
            run_evaluation(walk, call, receiver, model, "fit")
    return Opaque("fitted")


def _trained(walk: Walk, call: Call) -> Abstract | None:
    run_callbacks(walk, call)
    return None


def _evaluated(walk: Walk, call: Call) -> Abstract | None:
    """``trainer.test(model)`` and ``trainer.validate(model)``."""
    receiver, model = call.receiver, call.argument("model", 0)
    if not isinstance(receiver, Made) or receiver.path not in LIGHTNING_TRAINERS:
        return None
    if model is not None and _has_several_ranks(receiver):
        run_evaluation(walk, call, receiver, model, call.path.rpartition(".")[2])
    return Opaque("metrics")


def hand_over(walk: Walk, call: Call, receiver: Made, model: Abstract, *, hidden: bool = False) -> None:
    """Note that a framework wraps a model, with the BatchNorm layers that it leaves as they are."""
    before = walk.path
    for when, option in options(model):
        here = walk.assuming_also(when)
        if here is not None and isinstance(option, (Made, Object)) and is_module(option):
            walk.path = here
            walk.emit(
                ModelHandedOver,
                call.node,
                model=lower(option),
                framework=receiver.path,
                made=receiver.ref.place if hidden else walk.place(call.node),
                norms=tuple(unconverted_norms(walk, option)),
                hidden=hidden,
            )
        walk.path = before


def may_replicate(accelerator: Made) -> bool:
    """Whether no plug-in has Accelerate shard the model instead."""
    return not accelerator.open and all(is_none(accelerator.kwargs.get(name)) for name in SHARDING)


SHARDING = ("fsdp_plugin", "deepspeed_plugin", "deepspeed_plugins", "megatron_lm_plugin")


LIGHTNING_TRAINERS = ("lightning.Trainer", "lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
_COUNTS = ("devices", "gpus", "num_nodes")


def _is_data_parallel(trainer: Made) -> bool:
    """Whether a trainer certainly replicates its model on several ranks, and has no option to convert its BatchNorm."""
    converts = trainer.kwargs.get("sync_batchnorm")
    if trainer.open or not (converts is None or is_none(converts) or known(converts, True) is False):
        return False
    return _has_several_ranks(trainer)


def _has_several_ranks(trainer: Made) -> bool:
    """Whether a trainer certainly starts several ranks."""
    counts = [_count(trainer.kwargs.get(name)) for name in _COUNTS]
    if any(_names_ddp(trainer.kwargs.get(name)) for name in ("strategy", "accelerator", "distributed_backend")):
        return counts[0] != 1 or counts[2] not in (None, 1)
    several = any(count is not None and count > 1 for count in counts) or counts[0] == EVERY_GPU
    return "strategy" not in trainer.kwargs and several


EVERY_GPU = -1
"""``devices=-1``: all GPUs that there are."""


def _names_ddp(way: Abstract | None) -> bool:
    """Whether a strategy is DDP: by its name, by an option whose default it is, or an object of its class."""
    if isinstance(way, Made):
        last = way.path.rpartition(".")[2]
        return last.startswith("DDP") and "Sharded" not in last
    usual = way.default if isinstance(way, Opaque) else way
    name = known(usual, "") if usual is not None else ""
    return isinstance(name, str) and "ddp" in name


def _count(value: Abstract | None) -> int | None:
    """Return how many devices or nodes an argument asks for, where it says so."""
    if isinstance(value, Items):
        return None if value.open else len(value.items)
    number = value.value if isinstance(value, Known) else None
    if isinstance(number, str) and number.lstrip("-").isdecimal():
        return int(number)
    return number if isinstance(number, int) else None


FUNCTIONS = dict.fromkeys((name for name in DUTIES if not name.endswith(".")), _owner)
PREFIXES = dict.fromkeys((name for name in DUTIES if name.endswith(".")), _owner)
METHODS = {
    "prepare": _prepared,
    "setup": _prepared,
    "setup_module": _prepared,
    "setup_optimizers": _prepared,
    "setup_dataloaders": _prepared,
    **{f"prepare_{name}": _prepared_alone for name in PREPARED},
    "unwrap_model": _unwrapped,
    "fit": _fit,
    **{f"transformers.{name}.train": _trained for name in ("Trainer", "trainer.Trainer", "Seq2SeqTrainer")},
    **dict.fromkeys(["test", "validate"], _evaluated),
}
ATTRIBUTES = {
    "accelerate.Accelerator": _attribute,
    "accelerate.PartialState": _attribute,
    STATE: _attribute,
    "lightning.Trainer": _attribute,
    "lightning.Fabric": _attribute,
    "lightning.fabric.Fabric": _attribute,
}

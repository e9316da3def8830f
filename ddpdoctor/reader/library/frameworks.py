"""Frameworks that own parts of the job: what they do for the user is not asked for again."""

import ast

from ddpdoctor.events import FrameworkOwns, LoaderHandedOver, ModelHandedOver
from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, is_none, known, options
from ddpdoctor.reader.formulas import boolean
from ddpdoctor.reader.iteration import loaders_in
from ddpdoctor.reader.library.hooks import run_evaluation
from ddpdoctor.reader.library.kinds import is_module
from ddpdoctor.reader.library.norms import unconverted_norms
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Call, Walk
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
    "ignite.distributed.": frozenset({"group", "sampler", "wrap", "device", "launch"}),
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
}


def rank_flag(walk: Walk, name: str, node: ast.AST) -> Abstract | None:
    """Return a framework's attribute that says whether this is the first rank."""
    found = _RANKS.get(name)
    if found is None:
        return None
    leaf, value = found
    expression = Expression("==", (Expression(leaf), Expression("constant", (value,))))
    return boolean(walk.literal(f"{leaf} == {value}", "rank", expression, node))


def _attribute(walk: Walk, value: Made, name: str, node: ast.AST) -> Abstract | None:
    return rank_flag(walk, name, node)


def _prepared(walk: Walk, call: Call) -> Abstract | None:
    """``accelerator.prepare(a, b, …)``, ``fabric.setup(…)``: the same objects, in the same order."""
    receiver = call.receiver
    if not isinstance(receiver, Made) or not receiver.path.startswith(("accelerate.", "lightning")) or not call.args:
        return None
    replicates = _may_replicate if receiver.path.startswith("accelerate.") else _is_data_parallel
    if replicates(receiver):
        for given in call.args:
            _handed_over(walk, call, receiver, given)
    if receiver.path.startswith("accelerate.") and not receiver.open:
        for loader in dict.fromkeys(ref for given in call.args for ref in loaders_in(given)):
            walk.emit(LoaderHandedOver, call.node, loader=loader, framework=receiver.path)
    return call.args[0] if len(call.args) == 1 else Items(call.args, "tuple")


def _fit(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if not isinstance(receiver, Made) or "rainer" not in receiver.path:
        return None
    model = call.argument("model", 0)
    if model is not None and receiver.path in LIGHTNING_TRAINERS:
        if _is_data_parallel(receiver):
            _handed_over(walk, call, receiver, model, hidden=True)
        if _has_several_ranks(receiver):
            run_evaluation(walk, call, receiver, model, "fit")
    return Opaque("fitted")


def _evaluated(walk: Walk, call: Call) -> Abstract | None:
    """``trainer.test(model)`` and ``trainer.validate(model)``."""
    receiver, model = call.receiver, call.argument("model", 0)
    if not isinstance(receiver, Made) or receiver.path not in LIGHTNING_TRAINERS:
        return None
    if model is not None and _has_several_ranks(receiver):
        run_evaluation(walk, call, receiver, model, call.path.rpartition(".")[2])
    return Opaque("metrics")


def _handed_over(walk: Walk, call: Call, receiver: Made, model: Abstract, *, hidden: bool = False) -> None:
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


def _may_replicate(accelerator: Made) -> bool:
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
    ways = [known(trainer.kwargs.get(name), "") for name in ("strategy", "accelerator", "distributed_backend")]
    if any(isinstance(way, str) and "ddp" in way for way in ways):
        return counts[0] != 1 or counts[2] not in (None, 1)
    return "strategy" not in trainer.kwargs and any(count is not None and count > 1 for count in counts)


def _count(value: Abstract | None) -> int | None:
    """Return how many devices or nodes an argument asks for, where it says so."""
    if isinstance(value, Items):
        return None if value.open else len(value.items)
    number = value.value if isinstance(value, Known) else None
    return int(number) if isinstance(number, int) or (isinstance(number, str) and number.isdecimal()) else None


FUNCTIONS = dict.fromkeys((name for name in DUTIES if not name.endswith(".")), _owner)
PREFIXES = dict.fromkeys((name for name in DUTIES if name.endswith(".")), _owner)
METHODS = {
    "prepare": _prepared,
    "setup": _prepared,
    "setup_dataloaders": _prepared,
    "fit": _fit,
    **dict.fromkeys(["test", "validate"], _evaluated),
}
ATTRIBUTES = {
    "accelerate.Accelerator": _attribute,
    "accelerate.PartialState": _attribute,
    "lightning.Trainer": _attribute,
    "lightning.Fabric": _attribute,
    "lightning.fabric.Fabric": _attribute,
}

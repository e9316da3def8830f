"""Frameworks that own parts of the job: what they do for the user is not asked for again."""

import ast

from ddpdoctor.events import FrameworkOwns
from ddpdoctor.reader.abstract import Abstract, Items, Opaque
from ddpdoctor.reader.formulas import boolean
from ddpdoctor.reader.objects import Made
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
    return call.args[0] if len(call.args) == 1 else Items(call.args, "tuple")


def _fit(walk: Walk, call: Call) -> Abstract | None:
    return Opaque("fitted") if isinstance(call.receiver, Made) and "rainer" in call.receiver.path else None


FUNCTIONS = dict.fromkeys((name for name in DUTIES if not name.endswith(".")), _owner)
PREFIXES = dict.fromkeys((name for name in DUTIES if name.endswith(".")), _owner)
METHODS = {"prepare": _prepared, "setup": _prepared, "setup_dataloaders": _prepared, "fit": _fit}
ATTRIBUTES = {
    "accelerate.Accelerator": _attribute,
    "accelerate.PartialState": _attribute,
    "lightning.Trainer": _attribute,
    "lightning.Fabric": _attribute,
    "lightning.fabric.Fabric": _attribute,
}

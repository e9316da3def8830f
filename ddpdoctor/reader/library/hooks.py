"""What Lightning runs of a module in an evaluation, and what is logged there."""

from ddpdoctor.events import Reported
from ddpdoctor.reader.abstract import Abstract, Opaque, is_none, known, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.kinds import LOADER
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

EVALUATION = {
    "fit": ("validation_step", "on_validation_epoch_end", "validation_epoch_end"),
    "validate": ("validation_step", "on_validation_epoch_end", "validation_epoch_end"),
    "test": ("test_step", "on_test_epoch_end", "test_epoch_end"),
}
"""The hooks that each of a trainer's methods runs on data that its sampler deals out to the ranks."""
MAX_STEPS = 20_000
"""Enough for the forwards of deep models whose layers the project writes out."""


def is_lightning_module(value: Abstract) -> bool:
    """Whether a value is a module whose ``log`` is Lightning's."""
    return isinstance(value, Object) and any(path.startswith("lightning.") for path in value.cls.external_bases())


def run_evaluation(walk: Walk, call: Call, trainer: Made, model: Abstract, method: str) -> None:
    """Run a module's evaluation hooks aside, as a trainer on several ranks does, and record what they log."""
    if known(trainer.kwargs.get("use_distributed_sampler")) is False:
        return
    for _, option in options(model):
        if not isinstance(option, Object) or not is_lightning_module(option):
            continue
        if method == "fit" and not _is_validated(walk, call, option):
            continue
        logged: list[Reported] = []
        with walk.aside(MAX_STEPS):
            begun = len(walk.events)
            try:
                for name in EVALUATION[method]:
                    hook = class_attribute(walk, option.cls, name)
                    if isinstance(hook, Function):
                        walk.call_with(Bound(hook, option), *_arguments(hook, trainer), node=call.node)
            finally:
                logged = [event for event in walk.events[begun:] if isinstance(event, Reported)]
        for event in logged:
            if event.how == "epoch" and event.loaders:
                walk.emit(Reported, call.node, place=event.place, how="epoch", by=event.by, loaders=event.loaders)


def _is_validated(walk: Walk, call: Call, model: Object) -> bool:
    """Whether a fit may have data to validate on; with training batches alone Lightning runs no ``validation_step``."""
    if call.open or class_attribute(walk, model.cls, "val_dataloader") is not None or "datamodule" in call.kwargs:
        return True
    given, train = call.argument("val_dataloaders", 2), call.argument("train_dataloaders", 1)
    return not is_none(given) or len(call.args) > MAX_LOADERS or not (isinstance(train, Made) and train.path == LOADER)


MAX_LOADERS = 3
"""``fit(model, train_dataloaders, val_dataloaders, datamodule)``."""


def _arguments(hook: Function, trainer: Made) -> list[Abstract]:
    """Return a batch (of the rank's own) and its number, or what a hook at an epoch's end gets."""
    wanted = len(hook.node.args.posonlyargs) + len(hook.node.args.args) - 1
    batch = Opaque("batch", NO_TAGS | {("measure", trainer.ref), "data"})
    return [batch, *(Opaque("batch's number") for _ in range(wanted - 1))] if wanted > 0 else []

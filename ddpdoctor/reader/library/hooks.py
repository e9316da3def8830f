"""What Lightning runs of a module in an evaluation, and what is logged there."""

from collections.abc import Iterable

from ddpdoctor.events import Collective, Event, Reported
from ddpdoctor.reader.abstract import Abstract, Items, Opaque, is_none, known, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import write
from ddpdoctor.reader.library.kinds import LOADER
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk
from ddpdoctor.truth import divides_ranks

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
        write(option.attributes, "trainer", walk.path, trainer)
        hooks = [(name, [batch_of(trainer)]) for name in EVALUATION[method]]
        for event in run_aside(walk, call, option, hooks):
            if isinstance(event, Reported) and event.how == "epoch" and event.loaders:
                walk.emit(Reported, call.node, place=event.place, how="epoch", by=event.by, loaders=event.loaders)


def run_aside(walk: Walk, call: Call, holder: Object, hooks: "Iterable[tuple[str, list[Abstract]]]") -> list[Event]:
    """Run hooks of an object, each with its arguments, and return what happens: collectives on some ranks do happen."""
    seen: list[Event] = []
    with walk.aside(MAX_STEPS):
        begun = len(walk.events)
        try:
            for name, given in hooks:
                hook = class_attribute(walk, holder.cls, name)
                if isinstance(hook, Function):
                    walk.call_with(Bound(hook, holder), *_arguments(hook, given), node=call.node)
        finally:
            seen = walk.events[begun:]
    for event in seen:
        if isinstance(event, Collective) and divides_ranks(event.when):
            walk.events.append(event.with_(order=len(walk.events)))
    return seen


CALLBACK = (
    *("on_train_begin", "on_epoch_begin", "on_step_begin", "on_step_end", "on_epoch_end"),
    *("on_evaluate", "on_log", "on_save", "on_train_end"),
)
"""The hooks of a callback of transformers that training runs on every rank (transformers/trainer_callback.py)."""


def run_callbacks(walk: Walk, call: Call) -> None:
    """Run the hooks of the callbacks that a trainer of transformers was made with, as its ``train`` does."""
    trainer = call.receiver
    given = trainer.kwargs.get("callbacks") if isinstance(trainer, Made) else None
    callbacks = given.items if isinstance(given, Items) else ()
    for callback in callbacks:
        if isinstance(callback, Object) and isinstance(trainer, Made):
            settings = trainer.kwargs.get("args") or Opaque("args")
            state = walk.make(call._replace(args=(), kwargs={}), NO_TAGS, STATE)
            run_aside(walk, call, callback, [(name, [settings, state]) for name in CALLBACK])


STATE = "transformers.TrainerState"


def _is_validated(walk: Walk, call: Call, model: Object) -> bool:
    """Whether a fit may have data to validate on; with training batches alone Lightning runs no ``validation_step``."""
    if call.open or class_attribute(walk, model.cls, "val_dataloader") is not None or "datamodule" in call.kwargs:
        return True
    given, train = call.argument("val_dataloaders", 2), call.argument("train_dataloaders", 1)
    return not is_none(given) or len(call.args) > MAX_LOADERS or not (isinstance(train, Made) and train.path == LOADER)


MAX_LOADERS = 3
"""``fit(model, train_dataloaders, val_dataloaders, datamodule)``."""


def batch_of(trainer: Made) -> Abstract:
    """Return a batch of the rank's own."""
    return Opaque("batch", NO_TAGS | {("measure", trainer.ref), "data"})


def _arguments(hook: Function, given: list[Abstract]) -> list[Abstract]:
    """Return what a hook gets, and as many unknown values as it takes besides."""
    wanted = len(hook.node.args.posonlyargs) + len(hook.node.args.args) - 1
    return [*given, *(Opaque("batch's number") for _ in range(wanted - len(given)))][: max(wanted, 0)]

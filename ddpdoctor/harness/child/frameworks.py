"""Says when a framework drives the training, and which parts of the job it does itself."""

from types import ModuleType
from typing import Any

from ddpdoctor.events import FrameworkOwns
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through

ALL = frozenset({"group", "sampler", "epoch", "wrap", "device", "save", "launch"})
PREPARING = frozenset({"group", "sampler", "epoch", "wrap", "device"})

OWNERS: tuple[tuple[str, str, str, str, frozenset[str]], ...] = (
    ("pytorch_lightning", "Trainer", "__init__", "Lightning", ALL),
    ("lightning.pytorch", "Trainer", "__init__", "Lightning", ALL),
    ("lightning.fabric", "Fabric", "__init__", "Lightning Fabric", ALL),
    ("lightning_fabric", "Fabric", "__init__", "Lightning Fabric", ALL),
    ("accelerate", "Accelerator", "__init__", "Accelerate", PREPARING),
    ("transformers.trainer", "Trainer", "__init__", "Transformers Trainer", ALL - {"launch"}),
    ("ray.train.torch", "TorchTrainer", "__init__", "Ray Train", ALL),
)
"""Modules, their classes and the methods whose call hands the job over, with the framework and its duties."""

FUNCTIONS: tuple[tuple[str, str, str, frozenset[str]], ...] = (
    ("deepspeed", "initialize", "DeepSpeed", frozenset({"group", "wrap", "device", "save"})),
)
"""The same for functions of modules."""


def install(observer: Observer) -> None:
    """Observe the frameworks, where the script imports one."""
    for module, owner, method, name, duties in OWNERS:
        _wait(observer, module, owner, method, name, duties)
    for module, function, name, duties in FUNCTIONS:
        _wait(observer, module, None, function, name, duties)


def _wait(observer: Observer, module: str, owner: str | None, method: str, name: str, duties: frozenset[str]) -> None:
    def replace(original: Any) -> Any:
        def hands_over(*args: Any, **kwargs: Any) -> Any:
            if observer.frames.is_user(observer.caller()):
                observer.recorder.once(FrameworkOwns, name, name=name, duties=duties)
            return through(original, *args, **kwargs)

        return hands_over

    def imported(found: ModuleType) -> None:
        holder = found if owner is None else getattr(found, owner, None)
        if holder is not None:
            observer.patches.wrap(holder, method, replace)

    observer.patches.on_import(module, imported)

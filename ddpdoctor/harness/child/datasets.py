"""Observes data sets: where each was made, and how long it is once something reads it."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child import stand_ins
from ddpdoctor.harness.child.observer import Observer


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe the making of torch's data sets, and put stand-ins in the place of absent ones of torchvision's."""
    dataset: Any = torch.utils.data.Dataset

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        made = object.__new__(cls)
        observer.objects.made(made)
        return made

    if "__new__" not in vars(dataset):
        dataset.__new__ = __new__
    observer.patches.on_import("torchvision.datasets", lambda module: stand_ins.install(observer, module))

"""Knows the models of the script: where each module was made."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe the constructor of all modules."""

    def replace(original: Any) -> Any:
        def __init__(module: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            observer.objects.made(module)
            through(original, module, *args, **kwargs)

        return __init__

    observer.patches.wrap(torch.nn.Module, "__init__", replace)

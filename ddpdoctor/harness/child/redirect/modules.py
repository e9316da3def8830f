"""Keeps modules on the CPU that the script moves to a GPU, and DDP from asking where they are."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.redirect.tensors import on_cpu


def install(observer: Observer, torch: ModuleType) -> None:
    """Redirect ``Module.to`` and the devices that wrappers are given; ``Module.cuda`` moves tensor by tensor."""
    patches = observer.patches
    patches.wrap(torch.nn.Module, "to", _moving)
    patches.wrap(torch.nn.parallel.DistributedDataParallel, "__init__", _wrapping)
    patches.on_import("torch.distributed.fsdp", lambda fsdp: _fully_sharded(observer, torch, fsdp))


def _moving(original: Any) -> Any:
    def to(module: Any, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = on_cpu(kwargs["device"])
        return through(original, module, *map(on_cpu, args), **kwargs)

    return to


def _wrapping(original: Any) -> Any:
    def __init__(  # noqa: N807
        wrapper: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        through(original, wrapper, module, None, None, *args, **kwargs)

    return __init__


def _fully_sharded(observer: Observer, torch: ModuleType, fsdp: Any) -> None:
    def replace(original: Any) -> Any:
        def __init__(wrapper: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            kwargs["device_id"] = torch.device("cpu")  # without one it looks for an accelerator
            through(original, wrapper, *args, **kwargs)

        return __init__

    if hasattr(fsdp, "FullyShardedDataParallel"):
        observer.patches.wrap(fsdp.FullyShardedDataParallel, "__init__", replace)

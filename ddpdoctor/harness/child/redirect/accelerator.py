"""What ``torch.accelerator`` (since 2.6) answers for the virtual GPUs."""

from types import ModuleType

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.redirect.cuda import Current, Stream
from ddpdoctor.harness.child.redirect.lies import nothing, tell


def install(observer: Observer, torch: ModuleType) -> None:
    """Answer for ``torch.accelerator`` as for ``torch.cuda``, where this torch has it."""
    accelerator = getattr(torch, "accelerator", None)
    current = observer.current_device
    if accelerator is None or not isinstance(current, Current):
        return

    tell(
        observer,
        accelerator,
        {
            "is_available": lambda: True,
            "device_count": lambda: observer.plan.ranks,
            "current_accelerator": lambda *args, **kwargs: torch.device("cuda"),
            "current_device_index": lambda: current.index,
            "current_device_idx": lambda: current.index,
            "set_device_index": current.select,
            "set_device_idx": current.select,
            "current_stream": lambda *args, **kwargs: Stream(),
            "set_stream": nothing,
            "synchronize": nothing,
            "empty_cache": nothing,
            "reset_peak_memory_stats": nothing,
            "memory_allocated": lambda *args, **kwargs: 0,
            "max_memory_allocated": lambda *args, **kwargs: 0,
            "memory_reserved": lambda *args, **kwargs: 0,
            "max_memory_reserved": lambda *args, **kwargs: 0,
        },
    )

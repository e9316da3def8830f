"""The virtual GPUs: what ``torch.cuda`` answers when there are as many as ranks, one of them current."""

from collections import defaultdict
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from ddpdoctor.harness.child.device_log import cuda_index
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.redirect.lies import nothing, tell

MEMORY = 80 << 30
"""Bytes that a virtual GPU has, and has free."""

CAPABILITY = (9, 0)

NOTHING = (
    "empty_cache",
    "init",
    "ipc_collect",
    "manual_seed",
    "manual_seed_all",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "synchronize",
)

ZERO = (
    "clock_rate",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
)

TENSOR_TYPES = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")


class Current:
    """The virtual GPU that is current in this process."""

    def __init__(self) -> None:
        self.index = 0

    def select(self, device: Any) -> None:
        """Make a device current, when the script names one."""
        named, index = cuda_index(device)
        if named and index is not None:
            self.index = index


class Stream:
    """A stream or an event of a virtual GPU: everything is done as soon as it is asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.device = SimpleNamespace(type="cuda", index=0)
        self.cuda_stream = 0
        self.stream_id = 0

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def elapsed_time(self, other: object) -> float:
        """Return milliseconds, of which none pass: not 0, since scripts divide by them."""
        return 1.0

    def record_event(self, event: Any = None) -> Any:
        """Return an event."""
        return event if event is not None else Stream()

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing


def install(observer: Observer, torch: ModuleType) -> None:
    """Put virtual GPUs in the place of ``torch.cuda``'s."""
    cuda, count = torch.cuda, observer.plan.ranks
    current = Current()
    observer.current_device = current

    class Device:
        """``torch.cuda.device(…)``: another GPU is current in a block."""

        def __init__(self, device: Any) -> None:
            self.device = device
            self._before = current.index

        def __enter__(self) -> None:
            self._before = current.index
            current.select(self.device)

        def __exit__(self, *error: object) -> None:
            current.index = self._before

    properties = SimpleNamespace(
        name="a virtual GPU of ddpdoctor",
        total_memory=MEMORY,
        major=CAPABILITY[0],
        minor=CAPABILITY[1],
        multi_processor_count=132,
        is_integrated=0,
        is_multi_gpu_board=0,
        warp_size=32,
    )
    tell(
        observer,
        cuda,
        {
            "is_available": lambda: True,
            "is_initialized": lambda: True,
            "device_count": lambda: count,
            "current_device": lambda: current.index,
            "set_device": current.select,
            "get_device_name": lambda *args, **kwargs: properties.name,
            "get_device_properties": lambda *args, **kwargs: properties,
            "get_device_capability": lambda *args, **kwargs: CAPABILITY,
            "get_arch_list": lambda: [f"sm_{CAPABILITY[0]}{CAPABILITY[1]}"],
            "mem_get_info": lambda *args, **kwargs: (MEMORY, MEMORY),
            "is_bf16_supported": lambda *args, **kwargs: True,
            "is_current_stream_capturing": lambda: False,
            "can_device_access_peer": lambda *args, **kwargs: True,
            "memory_summary": lambda *args, **kwargs: "",
            "memory_stats": lambda *args, **kwargs: defaultdict(int),
            "memory_snapshot": lambda *args, **kwargs: [],
            "get_rng_state": lambda *args, **kwargs: torch.zeros(16, dtype=torch.uint8),
            "get_rng_state_all": lambda: [torch.zeros(16, dtype=torch.uint8) for _ in range(count)],
            "initial_seed": lambda: 0,
            "current_stream": lambda *args, **kwargs: Stream(),
            "default_stream": lambda *args, **kwargs: Stream(),
            **dict.fromkeys(NOTHING, nothing),
            **dict.fromkeys(ZERO, lambda *args, **kwargs: 0),
        },
    )
    for name, kind in {"Stream": Stream, "Event": Stream, "device": Device, "stream": Stream}.items():
        setattr(cuda, name, type(name, (kind,), {"__module__": "torch.cuda"}))
    tell(observer, cuda.nvtx, dict.fromkeys(("range_push", "range_pop", "range_start", "range_end", "mark"), nothing))
    tell(observer, cuda.nvtx, {"range": lambda *args, **kwargs: Stream()})
    for kind_name in TENSOR_TYPES:
        setattr(cuda, f"{kind_name}Tensor", getattr(torch, f"{kind_name}Tensor"))

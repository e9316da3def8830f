"""Has process groups work over gloo on loopback that the script wants over NCCL or between machines."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.patches import modules_of
from ddpdoctor.harness.child.redirect.lies import from_torch

GLOO, NCCL = "gloo", "nccl"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TCP = re.compile(r"^tcp://(\[[^\]]*\]|[^:/]+):(\d+)")


def install(observer: Observer, torch: ModuleType) -> None:
    """Redirect the functions of ``torch.distributed`` that name a backend, a device or an address."""
    if not torch.distributed.is_available():
        return
    c10d, public = torch.distributed.distributed_c10d, torch.distributed
    rendezvous, within = Rendezvous(observer), modules_of(public)
    patches = observer.patches
    patches.wrap(c10d, "init_process_group", rendezvous.initialising, also=within)
    for name in ("new_group", "new_subgroups", "new_subgroups_by_enumeration"):
        patches.wrap(c10d, name, _over_gloo, also=within)
    patches.wrap(c10d, "barrier", _without_devices, also=within)

    def asked(original: Any) -> Any:
        def get_backend(*args: Any, **kwargs: Any) -> Any:
            actual = through(original, *args, **kwargs)
            return actual if from_torch(observer) else asked_for(observer.asked_backend, actual)

        return get_backend

    def there(original: Any) -> Any:
        return lambda: from_torch(observer) is False or original()

    mesh = getattr(public, "device_mesh", None)
    if mesh is not None and hasattr(mesh, "DeviceMesh"):
        patches.wrap_if_there(mesh.DeviceMesh, "__init__", _of_cpus)
    patches.wrap(c10d, "get_backend", asked, also=(public,))
    patches.wrap(c10d, "is_nccl_available", there, also=(public,))


def asked_for(asked: str | None, actual: str) -> str:
    """Return what ``get_backend`` says: the backend that the script asked for; for several, that of the GPUs."""
    if asked is None:
        return NCCL if actual == GLOO else actual
    if ":" not in asked:
        return asked
    named = dict(part.split(":", 1) for part in asked.split(",") if ":" in part)
    return named.get("cuda", actual)


def _of_cpus(original: Any) -> Any:
    """Make the replacement of DeviceMesh's constructor: a mesh of GPUs would select them by itself."""

    def __init__(made: Any, /, device_type: str, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        through(original, made, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    return __init__


class Rendezvous:
    """Where the ranks of this run meet, whatever address the script names."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._ports: dict[str, int] = {}

    def initialising(self, original: Any) -> Any:
        """Make the replacement of ``init_process_group``."""

        def init_process_group(backend: Any = None, init_method: Any = None, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("device_id", None)
            if kwargs.get("pg_options") is not None:
                kwargs["pg_options"] = None
            if str(backend or NCCL).lower() not in (NCCL, GLOO):
                self._observer.recorder.substituted(f"the backend {backend}", "gloo")
            with self._local_address():
                return through(original, GLOO, self._local(init_method), *args, **kwargs)

        return init_process_group

    def _local(self, init_method: Any) -> Any:
        """Return an init method with its address on loopback and its port one that is free here."""
        if not isinstance(init_method, str):
            return init_method
        found = _TCP.match(init_method)
        if found is None:
            return init_method
        return f"tcp://{self._host(found[1])}:{self._port(found[2])}{init_method[found.end() :]}"

    def _host(self, host: str) -> str:
        if host not in LOOPBACK:
            self._observer.recorder.substituted(f"the address {host}", "this machine")
        return self._observer.orders.address

    def _port(self, port: str) -> int:
        """Return the run's own port for the first that the script names, and further ones as they are."""
        return self._ports.setdefault(port, int(port) if self._ports else self._observer.orders.port)

    @contextmanager
    def _local_address(self) -> Iterator[None]:
        """Have MASTER_ADDR and MASTER_PORT name this run's rendezvous in the block, where the script has set them."""
        before = {name: os.environ[name] for name in ("MASTER_ADDR", "MASTER_PORT") if name in os.environ}
        if "MASTER_ADDR" in before:
            os.environ["MASTER_ADDR"] = self._host(before["MASTER_ADDR"])
        if before.get("MASTER_PORT", "").isdecimal():
            os.environ["MASTER_PORT"] = str(self._port(before["MASTER_PORT"]))
        try:
            yield
        finally:
            os.environ.update(before)


def _over_gloo(original: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend") is not None:
            kwargs["backend"] = GLOO
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        return through(original, *args, **kwargs)

    return make


def _without_devices(original: Any) -> Any:
    def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, **kwargs: Any) -> Any:
        return through(original, group, async_op, **kwargs)

    return barrier

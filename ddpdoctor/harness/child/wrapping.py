"""Observes the wrapping of models for data-parallel training, and sets the watch over what is wrapped."""

import inspect
from types import ModuleType
from typing import Any

from ddpdoctor.events import ModelWrapped, Norm
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.wrapped import Wrapped
from ddpdoctor.value import Constant, Ref, Value

DDP = "torch.nn.parallel.DistributedDataParallel"

COPIES = 5
"""A trained parameter takes its own bytes so many times: itself, its gradient, its bucket's, and two for Adam."""


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe DDP's constructor, and FSDP's."""
    wrap = Wrap(observer, torch)
    observer.patches.wrap(torch.nn.parallel.DistributedDataParallel, "__init__", wrap.ddp)

    def sharded(fsdp: Any) -> None:
        if hasattr(fsdp, "FullyShardedDataParallel"):
            observer.patches.wrap(fsdp.FullyShardedDataParallel, "__init__", wrap.fsdp)

    observer.patches.on_import("torch.distributed.fsdp", sharded)


class Wrap:
    """Makes the replacements of wrappers' constructors."""

    def __init__(self, observer: Observer, torch: Any) -> None:
        self._observer = observer
        self._torch = torch

    def ddp(self, original: Any) -> Any:
        """Make the replacement of DDP's constructor."""
        signature = inspect.signature(original)

        def __init__(wrapper: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            try:
                given = dict(signature.bind_partial(wrapper, *args, **kwargs).arguments)
            except TypeError:
                through(original, wrapper, *args, **kwargs)  # it says what is wrong
                return
            if "args" in given or "kwargs" in given:  # the signature of a replacement below
                given = _named(args, kwargs)
            self._ddp_made(original, wrapper, given, args, kwargs)

        return __init__

    def _ddp_made(self, original: Any, wrapper: Any, given: dict[str, Any], args: Any, kwargs: Any) -> None:
        observer = self._observer
        module = given.get("module")
        ref = observer.objects.made(wrapper, kind=DDP)
        if given.get("device_ids"):
            observer.devices.used(given["device_ids"][0], "DistributedDataParallel")
        if not isinstance(module, self._torch.nn.Module):
            through(original, wrapper, *args, **kwargs)
            return
        from ddpdoctor.model.batchnorm import NormWatch
        from ddpdoctor.model.gradients import GradientWatch

        norms = NormWatch(module, observer.objects.type_name)
        written = self._write(ref, module, DDP, given, norms.norms())
        observer.doing = "wrapping the model"
        through(original, wrapper, *args, **kwargs)
        observer.doing = "training"
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        observer.need += COPIES * sum(parameter.numel() * parameter.element_size() for parameter in parameters)
        wrapped = Wrapped(ref, GradientWatch(wrapper), norms)
        wrapped.pending = written
        observer.wrappers.all[wrapper] = wrapped
        for inner in module.modules():
            observer.wrappers.inner[inner] = wrapped

    def _write(self, ref: Ref, module: Any, how: str, given: dict[str, Any], norms: tuple[Norm, ...]) -> dict[str, Any]:
        observer = self._observer
        fields: dict[str, Any] = {
            "at": (ref.place, ref.stack),
            "wrapper": ref,
            "model": observer.objects.value(module),
            "how": how,
            "options": _plain(given),
            "norms": norms,
            "parameters": sum(1 for _ in module.parameters()),
        }
        fields["order"] = observer.recorder.write(ModelWrapped, **fields)
        return fields

    def fsdp(self, original: Any) -> Any:
        """Make the replacement of FSDP's constructor."""

        def __init__(wrapper: Any, module: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            if self._observer.frames.is_user(self._observer.caller()):  # else one that it makes for a part
                ref = self._observer.objects.made(wrapper)
                self._write(ref, module, "torch.distributed.fsdp.FullyShardedDataParallel", kwargs, ())
            through(original, wrapper, module, *args, **kwargs)

        return __init__


_POSITIONS = ("module", "device_ids", "output_device", "dim", "broadcast_buffers")


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(_POSITIONS, args, strict=False)), **kwargs}


def _plain(given: dict[str, Any]) -> dict[str, Value]:
    """Return the options that have plain values."""
    plain: dict[str, Value] = {}
    for name, value in given.items():
        if isinstance(value, (bool, int, float, str)):
            plain[name] = Constant(value=value)
        elif name == "device_ids" and isinstance(value, (list, tuple)):
            plain[name] = Constant(value=tuple(str(item) if not isinstance(item, int) else item for item in value))
    return plain

"""Observes what the script does with devices: which it selects, what goes where, and when CUDA comes to life."""

import os
from functools import partial
from types import ModuleType
from typing import Any

from ddpdoctor.cuda import AVAILABLE, NVML_CHECK, TOUCHING
from ddpdoctor.harness.child.device_log import cuda_index
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe ``torch.cuda``, ``torch.accelerator`` and every function that takes a device."""
    cuda, patches = torch.cuda, observer.patches
    for name in TOUCHING:
        patches.wrap_if_there(cuda, name, partial(_touching, observer, f"torch.cuda.{name}"))
    patches.wrap(cuda, AVAILABLE, partial(_touching, observer, f"torch.cuda.{AVAILABLE}"))
    patches.wrap(cuda, "set_device", partial(_selecting, observer, "torch.cuda.set_device"))
    accelerator = getattr(torch, "accelerator", None)
    for name in ("set_device_index", "set_device_idx"):
        patches.wrap_if_there(accelerator, name, partial(_selecting, observer, f"torch.accelerator.{name}"))
    module = torch.nn.Module
    patches.wrap(module, "cuda", lambda original: _moving_to_cuda(observer, original))
    patches.wrap(module, "to", lambda original: _moving(observer, original))
    _observe_functions(observer, torch)


def _from_outside(observer: Observer) -> bool:
    """Whether the function of ours that asks was called by other code than torch's own."""
    return str(observer.caller().f_globals.get("__name__", "")).partition(".")[0] != "torch"


def _touching(observer: Observer, name: str, original: Any) -> Any:
    def touches(*args: Any, **kwargs: Any) -> Any:
        if _from_outside(observer) and not (name.endswith(AVAILABLE) and os.environ.get(NVML_CHECK) == "1"):
            observer.devices.touched(name)
        return through(original, *args, **kwargs)

    return touches


def _selecting(observer: Observer, name: str, original: Any) -> Any:
    def selects(device: Any, *args: Any, **kwargs: Any) -> Any:
        if _from_outside(observer):
            named, index = cuda_index(device)
            if named and index is not None:
                observer.devices.selected(index, name)
        return through(original, device, *args, **kwargs)

    return selects


def _moving_to_cuda(observer: Observer, original: Any) -> Any:
    def cuda(module: Any, device: Any = None) -> Any:
        observer.devices.used(device, "Module.cuda")
        with observer.quiet():
            return through(original, module, device)

    return cuda


def _moving(observer: Observer, original: Any) -> Any:
    def to(module: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device", args[0] if args else None)
        if device is not None:
            observer.devices.used(getattr(device, "device", device), "Module.to")  # `to(tensor)` takes the tensor's
        with observer.quiet():
            return through(original, module, *args, **kwargs)

    return to


def _observe_functions(observer: Observer, torch: Any) -> None:
    """Observe, and where the run has no GPUs redirect, every torch function that is given a device.

    A mode sees each function of torch's that is called from Python, whoever made its arguments. Modes belong to a
    thread: in the user's own threads this one is entered too.
    """
    import threading

    from torch.overrides import TorchFunctionMode

    tensor = torch.Tensor
    translate = observer.translate
    moves = {tensor.to: "Tensor.to", tensor.cuda: "Tensor.cuda", tensor.pin_memory: "Tensor.pin_memory"}
    log = observer.devices

    class DeviceMode(TorchFunctionMode):
        """Sees the device arguments of torch's functions."""

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            device = kwargs.get("device")
            move = moves.get(function)
            if (device is not None or move is not None) and not observer.is_quiet:
                if move == "Tensor.to":
                    if device is None and len(args) > 1:
                        device = getattr(args[1], "device", args[1])
                    if device is not None:
                        log.used(device, move)
                elif move == "Tensor.cuda":
                    log.used(args[1] if len(args) > 1 else device, move)
                elif move is not None:
                    log.touched(move)
                else:
                    log.used(device, _function_name(function))
            if translate is not None:
                return translate(function, args, kwargs)
            return function(*args, **kwargs)

    mode: Any = DeviceMode()
    mode.__enter__()

    def replace(original: Any) -> Any:
        def run(thread: Any) -> Any:
            with DeviceMode():
                return through(original, thread)

        return run

    observer.patches.wrap(threading.Thread, "run", replace)


def _function_name(function: Any) -> str:
    return f"torch.{getattr(function, '__name__', function)}"

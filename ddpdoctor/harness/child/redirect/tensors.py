"""Sends tensors to the CPU that the script sends to a GPU."""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.device_log import cuda_index
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.redirect.cuda import Current
from ddpdoctor.harness.child.redirect.lies import from_torch, nothing


def on_cpu(device: Any) -> Any:
    """Return the CPU for a CUDA device, however it is named, and anything else as it is."""
    if device is None:
        return None
    return "cpu" if cuda_index(device)[0] else device


def install(observer: Observer, torch: ModuleType) -> None:
    """Redirect torch's functions, generators and defaults; files are loaded to the CPU."""
    observer.translate = _translation(torch)
    patches = observer.patches
    patches.wrap(torch.Tensor, "record_stream", lambda original: nothing)  # it would judge the stream's type itself
    patches.wrap(torch.Tensor, "get_device", lambda original: _index_of(observer, original))
    patches.wrap(torch, "set_default_device", _first_argument(on_cpu))
    patches.wrap_if_there(torch, "set_default_tensor_type", _first_argument(_plain_type))
    for owner in (torch, torch.jit):
        patches.wrap(owner, "load", _loading_to_cpu)
    patches.wrap(torch, "Generator", _generator)


def _index_of(observer: Observer, original: Any) -> Any:
    """Return what replaces ``get_device``: scripts send tensors to the number that they get."""

    def get_device(tensor: Any) -> Any:
        index = through(original, tensor)
        current = observer.current_device
        return current.index if index < 0 and isinstance(current, Current) and not from_torch(observer) else index

    return get_device


def _translation(torch: Any) -> Callable[[Any, Any, Any], Any]:
    tensor = torch.Tensor
    stays = {tensor.cuda, tensor.pin_memory}
    to, kind = tensor.to, tensor.type

    def translate(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if function in stays:
            return args[0]
        if function is to and len(args) > 1:
            args = (args[0], on_cpu(args[1]), *args[2:])
        elif function is kind and len(args) > 1:
            args = (args[0], _plain_type(args[1]), *args[2:])
        if kwargs and ("device" in kwargs or "pin_memory" in kwargs):
            kwargs = {**kwargs, **_on_host(kwargs)}
        return through(function, *args, **kwargs)

    return translate


def _on_host(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if "device" in kwargs:
        changed["device"] = on_cpu(kwargs["device"])
    if kwargs.get("pin_memory"):
        changed["pin_memory"] = False
    return changed


def _plain_type(name: Any) -> Any:
    """Return the CPU's tensor type for a GPU's, by its name (``torch.cuda.FloatTensor``)."""
    return name.replace("torch.cuda.", "torch.") if isinstance(name, str) else name


def _first_argument(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        def changed(first: Any, *args: Any, **kwargs: Any) -> Any:
            return through(original, change(first), *args, **kwargs)

        return changed

    return make


def _loading_to_cpu(original: Any) -> Any:
    def load(file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return through(original, file, "cpu", *args, **kwargs)

    return load


def _generator(original: Any) -> Any:
    """Return what stands for ``torch.Generator``, whose objects are the original's: a type that cannot be derived."""

    class AnyGenerator(type):
        def __instancecheck__(cls, thing: object) -> bool:
            return isinstance(thing, original)

        def __call__(cls, device: Any = "cpu") -> Any:
            return original(on_cpu(device))

    return AnyGenerator("Generator", (), {"__module__": "torch"})

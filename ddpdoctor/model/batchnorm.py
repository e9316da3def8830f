"""The BatchNorm layers of a model: which are unconverted, and how many values a channel each sees on a rank."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from ddpdoctor.events import Norm


def is_unconverted(module: torch.nn.Module) -> bool:
    """Whether a layer is a BatchNorm that keeps its statistics to its own rank."""
    if not isinstance(module, _BatchNorm) or isinstance(module, (torch.nn.SyncBatchNorm, _InstanceNorm)):
        return False
    return hasattr(module, "__data_parallel_replicate__") or not _may_ask_others(type(module))


def _may_ask_others(kind: type[torch.nn.Module]) -> bool:
    """Whether a class has a forward that may ask the other ranks: by a collective, or an autograd function's ``apply``.

    Where there is the method ``__data_parallel_replicate__``, it asks the replicas of a DataParallel, in one process.
    """
    names = getattr(getattr(kind.forward, "__code__", None), "co_names", ())
    plain = [name.lower().replace("_", "") for name in names]
    return any(name == "apply" or "allreduce" in name or "allgather" in name for name in plain)


def uses_batch_statistics(module: torch.nn.Module) -> bool:
    """Whether a BatchNorm would use the statistics of its batch now: it trains, or it keeps none of its own."""
    return module.training or getattr(module, "running_mean", None) is None


def unconverted(model: torch.nn.Module) -> tuple[tuple[str, torch.nn.Module], ...]:
    """Return the unconverted BatchNorm layers of a model with their names; the model itself has the name ``""``."""
    return tuple((name, module) for name, module in model.named_modules() if is_unconverted(module))


class _Counter:
    """Counts the values a channel that one layer gets; a copy of the layer, or a saved one, is not watched.

    A forward that records gradients while the layer keeps to the statistics it has counts as 0 values.
    """

    def __init__(self, values: dict[str, int], name: str) -> None:
        self._values = values
        self._name = name

    def __call__(self, module: torch.nn.Module, inputs: Any) -> None:
        tensor = inputs[0] if inputs else None
        if not isinstance(tensor, torch.Tensor) or tensor.dim() < 2:
            return
        if uses_batch_statistics(module):
            channels = tensor.shape[1]
            self._values[self._name] = tensor.numel() // channels if channels else 0
        elif torch.is_grad_enabled():
            self._values.setdefault(self._name, 0)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return partial, (_nothing,)


def _nothing(*arguments: object) -> None:
    """Stand for a counter in a copy."""


class NormWatch:
    """Counts the values a channel that each unconverted BatchNorm layer of a model gets in its training forwards.

    A layer that was in evaluation mode in all of them does not train, whatever its mode was at the wrap.
    """

    def __init__(self, model: torch.nn.Module, named: Callable[[type], str]) -> None:
        """Watch a model; ``named`` gives a type its dotted path."""
        self._layers = unconverted(model)
        self._named = named
        self._values: dict[str, int] = {}
        self._handles = [
            module.register_forward_pre_hook(_Counter(self._values, name)) for name, module in self._layers
        ]

    @property
    def counted(self) -> bool:
        """Whether any layer has seen a training forward."""
        return bool(self._values)

    def norms(self, factor: float = 1.0) -> tuple[Norm, ...]:
        """Return the layers with the number of values each saw, multiplied by ``factor``.

        The factor makes up for batches of which only a part was loaded.
        """
        return tuple(
            Norm(
                name=name,
                type=self._named(type(module)),
                place=None,
                trained=self._values[name] > 0 if name in self._values else uses_batch_statistics(module),
                values=round(self._values[name] * factor) if self._values.get(name) else None,
            )
            for name, module in self._layers
        )

    def close(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

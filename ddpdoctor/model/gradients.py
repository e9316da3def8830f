"""Watches the gradients of one wrapped model through its backward passes: their layouts, copies and values."""

import zlib
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from ddpdoctor.events import ParameterSeen
from ddpdoctor.layout import same_memory_order
from ddpdoctor.model.strides import Strides, StrideWarning, is_dense, view_strides
from ddpdoctor.named import NamedTuple


class BackwardSeen(NamedTuple):
    """What one backward pass did: the parameters that got a gradient, in the order in which DDP found them ready, and
    the names of those that got none.
    """

    parameters: tuple[ParameterSeen, ...]
    unused: tuple[str, ...]


class _Arrival(NamedTuple):
    """A gradient as autograd delivers it; ``first`` when the parameter had none before."""

    strides: Strides | None  # None: sparse
    address: int
    first: bool


class GradientWatch:
    """Sees every gradient of a wrapped model twice: as autograd delivers it, and as DDP's reducer finds it.

    A tensor's hook runs before the gradient is accumulated and a post-accumulate hook after; DDP's own hook runs after
    both (torch/csrc/autograd/functions/accumulate_grad.cpp). Neither keeps the gradient: a further reference would
    make autograd clone what it would have kept.
    """

    def __init__(self, wrapper: DistributedDataParallel) -> None:
        ignored = getattr(wrapper, "parameters_to_ignore", ())
        self.wrapper = wrapper
        self.names: dict[str, torch.nn.Parameter] = {
            name: parameter
            for name, parameter in wrapper.module.named_parameters()
            if parameter.requires_grad and name not in ignored
        }
        self._views = self._laid_out()
        self._rebuilt = False
        self._arrived: dict[str, _Arrival] = {}
        self._seen: dict[str, ParameterSeen] = {}
        self._handles: dict[str, tuple[Any, Any]] = {}
        for name, parameter in self.names.items():
            self._hook(name, parameter)

    def _hook(self, name: str, parameter: Any) -> None:
        self._handles[name] = (
            parameter.register_hook(self._on_arrival(name, parameter)),
            parameter.register_post_accumulate_grad_hook(self._on_accumulated(name)),
        )

    def _come_last(self) -> None:
        """Have our hooks run after those that the user's code registered since: what they do, DDP finds."""
        for name, parameter in self.names.items():
            hooks = getattr(parameter, "_backward_hooks", None), getattr(parameter, "_post_accumulate_grad_hooks", None)
            ours = self._handles[name]
            if any(theirs and next(reversed(theirs)) != own.id for theirs, own in zip(hooks, ours, strict=True)):
                for handle in ours:
                    handle.remove()
                self._hook(name, parameter)

    def _laid_out(self) -> dict[str, Strides]:
        return {name: view_strides(parameter) for name, parameter in self.names.items()}

    def forward_begun(self) -> None:
        """Take note of a forward pass of the wrapper: it may have rebuilt the buckets, and so laid them out anew."""
        self._come_last()
        if not self._rebuilt and getattr(self.wrapper, "_has_rebuilt_buckets", False):
            self._rebuilt = True
            self._views = self._laid_out()

    def _on_arrival(self, name: str, parameter: torch.nn.Parameter) -> Any:
        def arrived(gradient: torch.Tensor) -> None:
            dense = gradient.layout == torch.strided
            self._arrived[name] = _Arrival(
                tuple(gradient.stride()) if dense else None,
                gradient.data_ptr() if dense else 0,
                parameter.grad is None,
            )

        return arrived

    def _on_accumulated(self, name: str) -> Any:
        def accumulated(parameter: torch.nn.Parameter) -> None:
            gradient = parameter.grad
            if gradient is None:
                return
            strides = tuple(gradient.stride()) if gradient.layout == torch.strided else None
            arrival = self._arrived.pop(name, None)
            raw = arrival.strides if arrival is not None else None
            copied = (
                arrival is not None
                and arrival.first
                and raw is not None
                and strides is not None
                and arrival.address != gradient.data_ptr()
                and not same_memory_order(parameter.shape, raw, view_strides(parameter))
            )
            self._seen[name] = ParameterSeen(
                name=name,
                shape=tuple(parameter.shape),
                dtype=str(gradient.dtype).removeprefix("torch."),
                strides=tuple(parameter.stride()),
                dense=is_dense(parameter),
                raw=raw,
                grad=strides,
                view=self._views[name],
                copied=copied,
                warned=False,
                bytes=parameter.numel() * gradient.element_size(),
            )

        return accumulated

    @property
    def touched(self) -> bool:
        """Whether any parameter got a gradient since the last :meth:`collect`."""
        return bool(self._seen)

    def collect(self, warned: list[StrideWarning]) -> BackwardSeen:
        """Return what happened since the last call, and take the warnings that are about this model's parameters.

        DDP's warnings name no parameter; they come in the order in which the parameters became ready, so each belongs
        to the next one of its sizes and strides.
        """
        rows = list(self._seen.values())
        position = 0
        for warning in tuple(warned):
            for index in range(position, len(rows)):
                row = rows[index]
                if (row.shape, row.grad, row.view) == (warning.shape, warning.grad, warning.view):
                    rows[index] = row._replace(warned=True)
                    position = index + 1
                    warned.remove(warning)
                    break
        unused = tuple(name for name in self.names if name not in self._seen)
        self._seen = {}
        self._arrived = {}
        return BackwardSeen(tuple(rows), unused)

    def digest(self) -> str:
        """Return a short text that is the same on all ranks when all their gradients are, bit for bit.

        The elements are summed as integers, so that neither the order of the sum nor the layout in memory matters.
        """
        return _digest(parameter.grad for parameter in self.names.values() if parameter.grad is not None)

    def close(self) -> None:
        """Take the hooks away."""
        for handles in self._handles.values():
            for handle in handles:
                handle.remove()
        self._handles = {}


_AS_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _digest(gradients: Iterable[torch.Tensor]) -> str:
    total = 0
    for gradient in gradients:
        flat = gradient.detach()
        if flat.layout != torch.strided:
            flat = flat.to_dense()
        if flat.is_complex():
            flat = torch.view_as_real(flat)
        sums = flat.view(_AS_INTEGERS[flat.element_size()]).sum(dtype=torch.int64).item()
        total = zlib.crc32(str(sums).encode(), total)
    return f"{total:08x}"

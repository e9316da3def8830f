"""Observes the forward passes of models: through their wrapper, around it, or before there is one."""

import weakref
from types import ModuleType
from typing import Any

from ddpdoctor.events import Forward
from ddpdoctor.harness.child.digests import digest
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.wrapped import Wrapped

PASSES_DIGESTED = 12
"""Of so many passes through wrappers the inputs are digested: those of the steps of two short epochs."""


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe calls of modules that no module made, and DDP's forward however it is called."""
    forwards = Forwards(observer, torch)
    observer.patches.wrap(torch.nn.Module, "__call__", forwards.calling)
    observer.patches.wrap(torch.nn.parallel.DistributedDataParallel, "forward", forwards.through_wrapper)


class Forwards:
    """The forward passes of this process."""

    def __init__(self, observer: Observer, torch: Any) -> None:
        self._observer = observer
        self._torch = torch
        self._inside = False
        self._passes = 0  # through wrappers
        self._trainable: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()

    def calling(self, original: Any) -> Any:
        """Make the replacement of ``Module.__call__``; a module that another one calls is let through at once."""

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if self._inside:
                return original(module, *args, **kwargs)
            self._inside = True
            try:
                self._called(module)
                return through(original, module, *args, **kwargs)
            finally:
                self._inside = False

        return __call__

    def through_wrapper(self, original: Any) -> Any:
        """Make the replacement of DDP's ``forward``."""

        def forward(wrapper: Any, *args: Any, **kwargs: Any) -> Any:
            wrapped = self._observer.wrappers.all.get(wrapper)
            outer, self._inside = self._inside, True
            if wrapped is not None:
                self._passes += 1
                inputs = digest((args, kwargs)) if self._passes <= PASSES_DIGESTED else None
                self._write(wrapper, wrapped.ref, "wrapper", inputs)
            try:
                output = through(original, wrapper, *args, **kwargs)
            finally:
                self._inside = outer
            if wrapped is not None:
                wrapped.gradients.forward_begun()
                if self._torch.is_grad_enabled():
                    synced = bool(getattr(wrapper, "require_backward_grad_sync", True))
                    wrapped.prepared = wrapped.prepared or synced
                    wrapped.unsynced = not synced
            return output

        return forward

    def _called(self, module: Any) -> None:
        wrappers = self._observer.wrappers
        if module in wrappers.all:
            return  # its own forward says so
        wrapped: Wrapped | None = wrappers.inner.get(module)
        if wrapped is not None:
            self._write(module, wrapped.ref, "module")
        elif self._trains(module):
            self._write(module, self._observer.objects.value(module), "model")

    def _trains(self, module: Any) -> bool:
        """Whether a module has parameters to train: losses and transforms are modules too."""
        known = self._trainable.get(module)
        if known is None:
            known = self._trainable[module] = any(True for parameter in module.parameters() if parameter.requires_grad)
        return known

    def _write(self, module: Any, model: Any, via: str, inputs: str | None = None) -> None:
        if self._observer.trial is not None:
            self._observer.trial.went_on()
        self._observer.recorder.write(
            Forward,
            model=model,
            via=via,
            grad=self._torch.is_grad_enabled(),
            training=bool(module.training),
            inputs=inputs,
        )

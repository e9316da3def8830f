"""Observes the conversion of BatchNorm layers to SyncBatchNorm."""

import dis
from types import FrameType, ModuleType
from typing import Any

from ddpdoctor.events import SyncBatchNormConverted
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe ``convert_sync_batchnorm``, which calls itself for each part of a model."""
    layer = torch.nn.SyncBatchNorm
    bound = layer.convert_sync_batchnorm
    function = bound.__func__
    state = {"inside": False}

    def convert_sync_batchnorm(cls: Any, module: Any, process_group: Any = None) -> Any:
        if state["inside"]:
            return through(function, cls, module, process_group)
        _write(observer, torch, module)
        state["inside"] = True
        try:
            return through(function, cls, module, process_group)
        finally:
            state["inside"] = False

    convert_sync_batchnorm.__doc__ = function.__doc__
    layer.convert_sync_batchnorm = classmethod(convert_sync_batchnorm)


def _write(observer: Observer, torch: Any, module: Any) -> None:
    from ddpdoctor.model.batchnorm import is_unconverted

    wrapper = torch.nn.parallel.DistributedDataParallel
    wrapped = isinstance(module, wrapper) or module in observer.wrappers.inner
    observer.recorder.write(
        SyncBatchNormConverted,
        model=observer.objects.value(module),
        wrapped=wrapped,
        kept=_result_is_used(observer.caller()),
        root=isinstance(module, torch.nn.Module) and is_unconverted(module),
    )


def _result_is_used(frame: FrameType) -> bool:
    """Whether the frame does anything with what the call returns that it is in: a bare call's result is popped."""
    following = (found for found in dis.get_instructions(frame.f_code) if found.offset > frame.f_lasti)
    after = next((found for found in following if found.opname not in ("CACHE", "EXTENDED_ARG", "NOP")), None)
    return after is None or after.opname != "POP_TOP"

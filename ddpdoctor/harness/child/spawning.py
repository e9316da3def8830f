"""Observes ``torch.multiprocessing.spawn`` and its kin: one start of several processes."""

import inspect
import sys
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.value import Constant


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe starts and joins."""
    module = sys.modules.get("torch.multiprocessing.spawn")  # its name in the package is that of a function
    starts = observer.starts
    if module is None or starts is None:
        observer.recorder.cut("torch.multiprocessing.spawn", "this release of torch has no such module")
        return

    def replace(original: Any) -> Any:
        signature = inspect.signature(original)

        def start_processes(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return through(original, *args, **kwargs)  # it says what is wrong
            bound.apply_defaults()
            given = bound.arguments
            function, joined = given.get("fn"), bool(given.get("join", True))
            ref = starts.write(
                method=str(given.get("start_method", "spawn")),
                target=str(getattr(function, "__qualname__", function)),
                count=Constant(value=given.get("nprocs")),
                join=Constant(value=joined),
                daemon=Constant(value=bool(given.get("daemon"))),
            )
            if joined:
                starts.joins(ref)
                observer.doing = "waiting for the processes that it started"
            with starts.of_one_start(ref):
                context = through(original, *args, **kwargs)
            if context is not None:
                starts.stands_for(context, ref)
            return context

        return start_processes

    observer.patches.wrap(module, "start_processes", replace, also=(torch.multiprocessing,))
    observer.patches.wrap(module.ProcessContext, "join", starts.join)

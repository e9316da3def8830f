"""Observes the backward passes: which gradients came of them, whose were averaged, and what DDP warned of."""

from types import ModuleType
from typing import Any

from ddpdoctor.events import Backward, GradientsSeen, ModelWrapped, Warned
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.wrapped import Wrapped


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe ``torch.autograd.backward``, which ``Tensor.backward`` calls."""
    observer.patches.wrap(torch.autograd, "backward", Passes(observer).replace)


class Passes:
    """The backward passes of this process."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._inside = False

    def replace(self, original: Any) -> Any:
        """Make the replacement of ``backward``; reentrant checkpointing calls it inside another pass."""

        def backward(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return through(original, *args, **kwargs)
            self._inside = True
            try:
                return self._watched(original, *args, **kwargs)
            finally:
                self._inside = False

        return backward

    def _watched(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        observer = self._observer
        before = observer.collectives.by_reducer
        if not observer.wrappers.all:
            result = through(original, *args, **kwargs)
            warned: list[Any] = []
        else:
            from ddpdoctor.model.stride_warnings import stride_warnings

            with stride_warnings() as warned:
                result = through(original, *args, **kwargs)
        observer.budget.backwards += 1
        _write(observer, warned, reduced=observer.collectives.by_reducer > before)
        return result


def _write(observer: Observer, warned: list[Any], *, reduced: bool) -> None:
    """Write a backward pass, and the gradients of each wrapped model that got some."""
    wrapped = [each for each in observer.wrappers.all.values() if each.gradients.touched]
    bypassed = tuple(each.ref for each in wrapped if not each.prepared and not each.unsynced)
    texts = [warning.text for warning in warned]
    observer.recorder.write(Backward, reduced=reduced if observer.wrappers.all else None, bypassed=bypassed)
    for each in wrapped:
        _write_gradients(observer, each, warned, reduced=reduced)
        each.prepared = each.unsynced = False
    for text in dict.fromkeys(texts):
        observer.recorder.once(Warned, text, text=text)


def _write_gradients(observer: Observer, wrapped: Wrapped, warned: list[Any], *, reduced: bool) -> None:
    """Write the gradients of a wrapped model, when its wrapper is to average them.

    It cannot where a parameter got none: then nothing is reduced, and the next forward raises.
    """
    seen = wrapped.gradients.collect(warned)
    wrapped.backwards += 1
    if wrapped.prepared:
        observer.recorder.write(
            GradientsSeen,
            wrapper=wrapped.ref,
            step=wrapped.backwards,
            parameters=seen.parameters,
            unused=seen.unused,
            digest=wrapped.gradients.digest() if reduced else None,
        )
    if wrapped.pending is not None and wrapped.norms.counted:
        observer.recorder.write(
            ModelWrapped, **{**wrapped.pending, "norms": wrapped.norms.norms(1 / observer.loaded_share)}
        )
        wrapped.pending = None
        wrapped.norms.close()

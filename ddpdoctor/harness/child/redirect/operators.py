"""Operators that the CPU refuses what a GPU takes."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


def install(observer: Observer, torch: ModuleType) -> None:
    """Have the CPU do what a GPU would."""
    functional = torch.nn.functional

    def cross_entropy(original: Any) -> Any:
        def binary_cross_entropy(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
            if args or ((target >= 0) & (target <= 1)).all():
                return through(original, input, target, *args, **kwargs)
            observer.recorder.substituted(
                "binary_cross_entropy with targets outside of 0 and 1", "the GPU's arithmetic"
            )
            return _unchecked(torch, input, target, **kwargs)

        return binary_cross_entropy

    def histogram(original: Any) -> Any:
        def histc(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
            given = input if input.is_floating_point() else input.float()
            return through(original, given, *args, **kwargs)

        return histc

    observer.patches.wrap(functional, "binary_cross_entropy", cross_entropy)
    observer.patches.wrap(torch, "histc", histogram)


def _unchecked(torch: Any, given: Any, target: Any, weight: Any = None, reduction: str = "mean", **_: Any) -> Any:
    """Return the loss without a look at the range of the targets, as the CUDA kernel (cuda/Loss.cu) computes it.

    Logarithms are bounded below by -100.
    """
    loss = -(target * given.log().clamp(min=-100) + (1 - target) * (1 - given).log().clamp(min=-100))
    if weight is not None:
        loss = loss * weight
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss

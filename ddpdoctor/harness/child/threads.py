"""Sees to it that torch works with enough threads for its kernels to be those of an ordinary run."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through

MINIMUM = 2
"""With one thread PyTorch picks other kernels for convolutions on a CPU, which lay gradients out differently: of 55
models 12 warned with one thread and 21 with two (measured with torch 2.14). torchrun sets one."""


def install(observer: Observer, torch: ModuleType) -> None:
    """Set the number of threads, and keep the script from setting fewer."""
    torch.set_num_threads(max(MINIMUM, torch.get_num_threads()))

    def replace(original: Any) -> Any:
        def set_num_threads(number: Any) -> Any:
            if isinstance(number, int) and 0 < number < MINIMUM:
                observer.recorder.substituted(f"torch.set_num_threads({number})", f"{MINIMUM} threads")
                number = MINIMUM
            return through(original, number)

        return set_num_threads

    observer.patches.wrap(torch, "set_num_threads", replace)

"""The subjects that are observed in torch, one module each, in the order in which their patches lie on each other."""

from collections.abc import Callable
from types import ModuleType

from ddpdoctor.harness.child import (
    backwards,
    compilation,
    data_loading,
    datasets,
    devices,
    files,
    forwards,
    models,
    optimizers,
    process_group,
    redirect,
    samplers,
    spawning,
    sync_conversion,
    threads,
    weights,
    wrapping,
)
from ddpdoctor.harness.child.observer import Observer

Install = Callable[[Observer, ModuleType], None]

SUBJECTS: tuple[Install, ...] = (
    threads.install,
    compilation.install,
    devices.install,
    process_group.install,
    models.install,
    wrapping.install,
    forwards.install,
    backwards.install,
    optimizers.install,
    sync_conversion.install,
    samplers.install,
    datasets.install,
    data_loading.install,
    weights.install,
    files.install,
    spawning.install,
)


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe torch, and redirect what asks for GPUs where the run has none.

    The redirection lies beneath: what is observed is what the script asked for.
    """
    if observer.redirected:
        redirect.install(observer, torch)
    for subject in SUBJECTS:
        subject(observer, torch)

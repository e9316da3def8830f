"""Observes samplers: their construction, and ``set_epoch``."""

import inspect
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through

SAMPLERS = ("DistributedSampler", "RandomSampler", "SequentialSampler", "WeightedRandomSampler", "SubsetRandomSampler")


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe torch's samplers; the script's own are met when a loader is given one."""
    data = torch.utils.data
    for name in SAMPLERS:
        observer.patches.wrap(getattr(data, name), "__init__", lambda original: _constructor(observer, original))
    observer.patches.wrap(data.DistributedSampler, "set_epoch", lambda original: _setting(observer, original))


def _constructor(observer: Observer, original: Any) -> Any:
    signature = inspect.signature(original)

    def __init__(sampler: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        through(original, sampler, *args, **kwargs)
        derived = not type(sampler).__module__.startswith("torch.")
        if derived or observer.frames.is_user(observer.caller()):
            given = signature.bind_partial(sampler, *args, **kwargs).arguments
            observer.samplers.built(sampler, given.get("data_source", given.get("dataset")))

    return __init__


def _setting(observer: Observer, original: Any) -> Any:
    def set_epoch(sampler: Any, epoch: Any) -> Any:
        if "set_epoch" not in vars(sampler):  # else the method in front of this one has written it
            observer.samplers.epoch_set(sampler, epoch)
        return through(original, sampler, epoch)

    return set_epoch

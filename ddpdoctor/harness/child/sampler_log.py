"""Writes down the samplers that the script makes, and the epochs that it sets on them."""

from typing import Any

from ddpdoctor.events import EpochSet, SamplerBuilt
from ddpdoctor.harness.child.dataset_log import DatasetLog
from ddpdoctor.harness.child.objects import Objects
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.value import Constant, Ref, Value


class SamplerLog:
    """The samplers of this process."""

    def __init__(self, recorder: Recorder, objects: Objects, datasets: DatasetLog) -> None:
        self._recorder = recorder
        self._objects = objects
        self._datasets = datasets
        self._written: set[Ref] = set()

    def built(self, sampler: Any, dataset: Any = None) -> None:
        """Write that a sampler was made, once, with what it is set to."""
        ref = self._objects.made(sampler)
        if ref in self._written:
            return
        self._written.add(ref)
        if dataset is None:
            dataset = getattr(sampler, "dataset", getattr(sampler, "data_source", None))
        self._recorder.write(
            SamplerBuilt,
            at=(ref.place, ref.stack),
            sampler=ref,
            dataset=self._datasets.value(dataset),
            replicas=_plain(sampler, "num_replicas"),
            sampler_rank=_plain(sampler, "rank"),
            shuffle=_plain(sampler, "shuffle"),
            seed=_plain(sampler, "seed"),
        )

    def met(self, sampler: Any) -> None:
        """Take note of a sampler that a loader is given: the script's own may have a ``set_epoch`` of its own."""
        if sampler is None or type(sampler).__module__.startswith("torch."):
            return
        self.built(sampler)
        method = getattr(sampler, "set_epoch", None)
        if method is None or getattr(method, "__module__", "").startswith("torch.") or "set_epoch" in vars(sampler):
            return

        def set_epoch(epoch: Any, *args: Any, **kwargs: Any) -> Any:
            self.epoch_set(sampler, epoch)
            return through(method, epoch, *args, **kwargs)

        sampler.set_epoch = set_epoch

    def epoch_set(self, sampler: Any, epoch: Any) -> None:
        """Write that the script sets a sampler's epoch."""
        value = Constant(value=epoch if isinstance(epoch, (int, float)) else str(epoch))
        self._recorder.write(EpochSet, target=self._objects.value(sampler), value=value)


def _plain(thing: Any, name: str) -> Value | None:
    value = getattr(thing, name, None)
    return Constant(value=value) if isinstance(value, (bool, int)) else None

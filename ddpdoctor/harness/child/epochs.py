"""One reading of a loader: what a whole epoch would draw, and the few batches of it that are loaded."""

import os
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from ddpdoctor.events import EpochBegun, EpochEnded
from ddpdoctor.harness.child import peers
from ddpdoctor.harness.child.budget import BATCHES_A_STEP
from ddpdoctor.harness.child.dataset_log import length
from ddpdoctor.harness.child.drawn import SAMPLES_LOADED, Batches, data_of, indices_of
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.recorder import INLINE_INDICES
from ddpdoctor.value import Ref


class Epoch:
    """The iterator over one epoch of a loader.

    It ends once ``steps`` optimiser steps were taken (or, where nothing trains, after as many batches), with the last
    batch of the whole epoch as its last. A rank whose epoch is shorter than another's ends one step earlier, so that
    it runs out of data first here too: unless the loop may be left before, at the same step on every rank.

    ``next(iter(loader))`` is no epoch: one batch asked for by ``next`` begins none, unless a step is taken on it.
    """

    def __init__(self, observer: Observer, loader: Any, inner: Any, ref: Ref, numbers: Iterator[int]) -> None:
        """Begin to read a loader by torch's own iterator ``inner``; ``numbers`` has the number of this epoch next."""
        self._observer = observer
        self._inner = inner
        self._ref = ref
        self._numbers = numbers
        self._number = 0  # not begun
        self._key = ""
        self._at = observer.frames.here(sys._getframe(1))
        self._loader = loader
        self.length = length(loader)
        self._batches = Batches.of(loader, inner, self.length)
        if self._batches is not None and loader.num_workers:
            self._batches.draw()  # workers are sent to fetch as soon as the iterator is made
        self._drawn = 0
        self._stepped = 0
        self._steps_before = self._steps_at_last_batch = observer.budget.total_steps
        self._backwards_before = observer.budget.backwards
        self._over = self._ended = False
        observer.budget.epoch_begun(self)

    def _begin(self) -> None:
        """Write the beginning of the epoch, once."""
        if self._number:
            return
        observer = self._observer
        self._number = next(self._numbers)
        self._key = peers.key(self._ref, self._number)
        indices = indices_of(self._loader, self._batches)
        order = observer.recorder.next_order()
        inline = indices is not None and len(indices) <= INLINE_INDICES
        if indices is not None and not inline:
            observer.recorder.write_indices(order, indices)
        observer.recorder.write(
            EpochBegun,
            at=self._at,
            order=order,
            loader=self._ref,
            number=self._number,
            length=self.length,
            indices=tuple(indices) if inline and indices is not None else None,
            data=data_of(self._loader) if indices is not None and self._number == 1 else None,
        )
        if self.length is not None:
            peers.announce(observer, self._key, self.length)
        observer.epoch = weakref.ref(self)  # a loop that is broken off drops it, and so ends it

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        self._count_steps()
        if self._batches is not None:
            self._batches.draw()
        if self._drawn or self._observer.rounds.asking is None:
            self._begin()
        if self._enough():
            asked_by_next = self._observer.budget.asked_by_next()
            self._end(cut=True)
            if not asked_by_next:
                self._over = True
                raise StopIteration
            self._observer.budget.cut_asking_loop()
        elif self._batches is not None and self._last_next():
            self._batches.skip_to_last(self._batches_a_step())
        try:
            batch = through(next, self._inner)
        except StopIteration:
            self._over = True
            self._end(cut=False)
            raise
        self._drawn += 1
        if self._batches is not None:
            self._observer.loaded_share = self._batches.share
            if self._batches.share < 1:
                of = f"batches of {round(SAMPLES_LOADED / self._batches.share)} samples"
                self._observer.recorder.substituted(of, f"the first {SAMPLES_LOADED} samples of each")
        return batch

    def _count_steps(self) -> None:
        steps = self._observer.budget.total_steps
        self._stepped += steps > self._steps_at_last_batch
        self._steps_at_last_batch = steps

    def _target(self) -> int:
        """Return after how many steps, or batches without any, this epoch ends."""
        budget = self._observer.budget
        if self.length is None or budget.model_alone or budget.may_leave_early():
            return budget.steps
        longest = max([self.length, *peers.lengths(self._observer, self._key)])
        return budget.steps if self.length == longest else max(0, min(self.length, budget.steps - 1))

    def _trains(self) -> bool:
        return self._observer.budget.backwards > self._backwards_before

    def _enough(self) -> bool:
        if self.length is not None and self._drawn >= self.length:
            return False  # it ends by itself
        target = self._target()
        if not self._trains():
            return self._drawn >= target
        if self._drawn >= BATCHES_A_STEP * max(target, 1):
            self._observer.recorder.cut("an epoch", f"no {target} optimiser steps within {self._drawn} batches")
            return True
        return self._stepped >= target

    def _last_next(self) -> bool:
        """Whether the batch that is asked for begins the last step of this epoch."""
        if self._observer.budget.asked_by_next() or self._observer.budget.model_alone:
            return False
        last = self._target() - 1
        if not self._trains():
            return self._drawn == last > 0
        return self._stepped == last > 0 and self._drawn % self._batches_a_step() == 0

    def _batches_a_step(self) -> int:
        return max(1, round(self._drawn / self._stepped)) if self._stepped else 1

    def completes_epoch(self) -> bool:
        """Whether an optimiser step taken now is the last one of this epoch."""
        last = self.length is not None and self._drawn >= self.length
        return not self._ended and (last or self._stepped + 1 >= self._target())

    def _end(self, *, cut: bool, by_us: bool = True) -> None:
        """Write the end of the epoch, once; whoever may not be refused gets further batches of it.

        ``cut`` when batches are left over, ``by_us`` unless the script itself leaves them.
        """
        if self._ended:
            return
        self._ended = True
        observer = self._observer
        self._count_steps()
        steps = observer.budget.total_steps - self._steps_before
        if steps:
            self._begin()
        if self._number:
            observer.recorder.write(
                EpochEnded, at=self._at, loader=self._ref, number=self._number, steps=steps, cut=cut
            )
        observer.budget.epoch_ended(self, (self._ref.place, self._ref.stack), trained=steps > 0, cut=cut and by_us)

    def __del__(self) -> None:
        if not self._ended and os.getpid() == self._observer.pulse.pid and not sys.is_finalizing():
            self._end(cut=True, by_us=False)

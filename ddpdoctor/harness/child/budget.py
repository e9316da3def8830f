"""Counts what the training has done, and ends it once that is enough."""

import dis
import sys
import time
from collections import Counter
from types import FrameType
from typing import Protocol

from ddpdoctor.harness.child.frames import OURS
from ddpdoctor.harness.child.rounds import Loop, Rounds
from ddpdoctor.harness.child.source_cut import NEXT
from ddpdoctor.harness.plan import Plan
from ddpdoctor.layer import MODEL

MOST_PHASES = 3
"""A script may train again after its loops were ended (a second stage); the last loops end with the script."""

LINGER_SECONDS = {True: 4.0, False: 20.0}
"""How long a script may go on after its training was ended, for the model layer alone and for the probe."""

BATCHES_A_STEP = 16
"""A step may accumulate the gradients of this many batches; with more, the epoch ends before its steps are taken."""

STEPS_WITHOUT_EPOCHS = 20
"""A loader that never comes to its end is believed to count epochs for so many times the steps of all of them."""


def _is_in_next(frame: FrameType | None) -> bool:
    """Whether the code that is not ours around a frame, a library's, is in a call of ``next`` as far as can be told.

    A library's calls of ``next`` are not rewritten as the user's are; a ``for`` loop of its is at another instruction.
    """
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    names = () if frame is None else frame.f_code.co_names
    if frame is None or "next" not in names or NEXT in names:
        return False
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")


class Recorded(Protocol):
    """What the budget needs of a recorder."""

    def cut(self, what: str, why: str) -> None:
        """Say, once, that something was ended early."""


class Budget:
    """The optimiser steps and epochs that a plan allows: with the model layer alone one step of one epoch.

    An epoch counts when optimiser steps were taken while its loader was read. Once enough epochs have ended, the loops
    that were around the last step end at their heads (:class:`Rounds`), and what follows them runs. A script that
    trains without a loader is ended by its steps alone.
    """

    def __init__(self, plan: Plan, rounds: Rounds, recorder: Recorded) -> None:
        self.model_alone = plan.layers == frozenset({MODEL})
        self.steps = 1 if self.model_alone else plan.steps
        self.epochs = 1 if self.model_alone else plan.epochs
        self.total_steps = 0
        self.backwards = 0
        self.spent_at: float | None = None
        self._rounds = rounds
        self._recorder = recorder
        self._phase = 0
        self._taken: Counter[int] = Counter()
        self._since_spent = 0
        self._left_out = False
        self._epochs: Counter[object] = Counter()
        self._open: set[int] = set()
        self._around_step: list[Loop] = []

    @property
    def spent(self) -> bool:
        """Whether the training has been ended once."""
        return self.spent_at is not None

    @property
    def cut_short(self) -> bool:
        """Whether what runs now follows something that was left out: a loop's rounds, or an epoch's batches.

        The next epoch, or step, has what it needs again.
        """
        return self._rounds.cut_short or self._left_out

    @property
    def epoch(self) -> int:
        """The number of the training epoch that runs, from 1."""
        return max(self._epochs.values(), default=0) + 1

    def step_taken(self, optimizer: object) -> None:
        """Count an optimiser step, and end the training when it is one that no loader ends."""
        self.total_steps += 1
        self._since_spent += 1
        self._left_out = False
        self._taken[id(optimizer)] += 1
        self._around_step = list(self._rounds.around(sys._getframe(1)))
        if self._taken[id(optimizer)] >= self._limit():
            self._spend()
            if self._phase >= MOST_PHASES or not self._around_step:
                self._rounds.stop()

    def _limit(self) -> int:
        steps = self.steps * (self.epochs if self._phase == 0 else 1)
        return steps * STEPS_WITHOUT_EPOCHS if self._open else steps

    def last_step_next(self, *, completes_epoch: bool) -> bool:
        """Whether the step that is about to be taken is the last one allowed, as far as that can be told.

        ``completes_epoch`` says whether it is the last of the epoch of a loader that is being read.
        """
        if self._phase:
            return False
        if self._open:
            return completes_epoch and self.epoch >= self.epochs
        return max(self._taken.values(), default=0) + 1 >= self._limit()

    def epoch_begun(self, epoch: object) -> None:
        """Take note of a loader that is being read."""
        self._open.add(id(epoch))
        self._left_out = False

    def epoch_ended(self, epoch: object, loader: object, *, trained: bool, cut: bool = False) -> None:
        """Count an epoch of a loader, and end the training when it was the last one allowed.

        ``cut`` when batches of it were left out.
        """
        self._open.discard(id(epoch))
        self._left_out = self._left_out or cut
        if not trained:
            return
        self._epochs[loader] += 1
        if self._epochs[loader] >= (self.epochs if self._phase == 0 else 1) and self._since_spent:
            self._spend()

    def _spend(self) -> None:
        for loop in self._around_step:
            loop.cut = True
        if self.spent_at is None:
            self.spent_at = time.monotonic()
        self._phase += 1
        self._since_spent = 0
        self._taken.clear()
        self._epochs.clear()
        self._recorder.cut("the training loops", f"ended after {self.total_steps} optimiser steps")

    def cut_asking_loop(self) -> None:
        """End the loop that asks for batches with ``next``, since its iterator must not end before the loop does."""
        asking = self._rounds.asking
        loop = next(self._rounds.around(asking.frame if asking is not None else sys._getframe(1)), None)
        if loop is not None:
            loop.cut = True

    def may_leave_early(self) -> bool:
        """Whether the loop that asks for a batch now may be left before its loader has come to its end."""
        return self._rounds.may_leave_early(sys._getframe(1))

    def asked_by_next(self) -> bool:
        """Whether the batch that is asked for now may not be refused.

        So it is in a call of ``next`` that is not ready for the end, unless a generator between the call and the
        loader goes around it in a loop of its own: that one begins the next epoch.
        """
        asking = self._rounds.asking
        if asking is None:
            return _is_in_next(sys._getframe(1))
        if asking.ready:
            return False
        return sum(1 for _ in self._rounds.around(sys._getframe(1), until=asking.frame)) < 2

    def check_time(self) -> None:
        """Have the script left at the next loop's head when it lingers."""
        if self.spent_at is not None and time.monotonic() - self.spent_at > LINGER_SECONDS[self.model_alone]:
            self.spent_at = time.monotonic()
            self._rounds.late = True
            self._recorder.cut("what follows the training", "it went on for too long after the training was ended")

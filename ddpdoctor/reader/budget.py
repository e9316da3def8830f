"""How much an interpretation may cost: steps, and seconds of CPU where steps do not bound it."""

import time

STEPS_A_LOOK = 64
"""The steps between two looks at the clock: mostly some microseconds, but tens of milliseconds each at the worst."""
LONG = 511
"""How many literals make a condition so long that each step takes noticeably more."""


class OutOfBudget(Exception):
    """The interpretation was ended: what was found so far stands, and nothing is concluded from absence."""


class Budget:
    """What is left of an interpretation's steps and time; ``complete`` until something is left out.

    Whoever takes a step lowers ``steps_left``, and asks for a look around where that is below ``look_at`` or the
    condition is long: as a call of its own a step would take as long again as many of them do.
    """

    def __init__(self, steps: int, seconds: float) -> None:
        self.complete = True
        self.steps_left = steps
        self.look_at = steps - STEPS_A_LOOK
        self._deadline = time.process_time() + seconds  # of CPU: a busy machine changes no result

    def look_around(self, length: int) -> None:
        """Look whether the budget is used up, under a condition of so many literals.

        Raises OutOfBudget when it is.
        """
        self.steps_left -= length >> 9 << 8  # what a step takes grows with a long condition
        if self.steps_left < self.look_at:
            self.look_at = self.steps_left - STEPS_A_LOOK
            if self.steps_left < 0 or time.process_time() > self._deadline:
                self.complete = False
                raise OutOfBudget

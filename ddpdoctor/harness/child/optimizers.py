"""Observes optimisers: where they are made, and their steps, by which the budget counts."""

from types import ModuleType
from typing import Any

from ddpdoctor.events import OptimizerStep
from ddpdoctor.harness.child import trial
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through


def install(observer: Observer, torch: ModuleType) -> None:
    """Observe the constructor of all optimisers and their steps, by the hooks that torch has for all (since 2.0)."""
    from torch.optim import optimizer as module

    observer.patches.wrap(module.Optimizer, "__init__", lambda original: _made(observer, original))
    hooks: Any = module
    before = getattr(hooks, "register_optimizer_step_pre_hook", None)
    after = getattr(hooks, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        observer.recorder.cut("optimiser steps", "this release of torch has no hooks for them")
        return
    steps = Steps(observer)
    before(steps.before)
    after(steps.after)


def _made(observer: Observer, original: Any) -> Any:
    def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        observer.objects.made(optimizer)
        through(original, optimizer, *args, **kwargs)

    return __init__


class Steps:
    """The optimiser steps of this process."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._under_way: list[int] = []

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Try out, at the last step, what an exception would do here."""
        observer = self._observer
        if id(optimizer) in self._under_way:
            self._under_way.clear()  # an exception has ended its last step
        self._under_way.append(id(optimizer))
        if len(self._under_way) > 1:
            return
        if observer.trial is not None:
            observer.trial.went_on()
        epoch = observer.epoch()
        completes = epoch is not None and epoch.completes_epoch()
        if observer.recorder.rank == 0 and observer.budget.last_step_next(completes_epoch=completes):
            trial.at_step(observer)

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Write a step, and count it; one that another optimiser takes for its own (SAM, ZeRO) is a part of that."""
        observer = self._observer
        if id(optimizer) in self._under_way:
            del self._under_way[self._under_way.index(id(optimizer)) :]
        if self._under_way:
            return
        budget = observer.budget
        observer.recorder.write(OptimizerStep, optimizer=observer.objects.ref(optimizer), number=budget.total_steps + 1)
        of = budget.steps * budget.epochs
        observer.doing = f"step {min(budget.total_steps + 1, of)} of {of}"
        budget.step_taken(optimizer)

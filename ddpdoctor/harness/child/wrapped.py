"""The wrapped models of a process, under watch."""

import weakref
from typing import TYPE_CHECKING, Any

from ddpdoctor.value import Ref

if TYPE_CHECKING:
    from ddpdoctor.model.batchnorm import NormWatch
    from ddpdoctor.model.gradients import GradientWatch


class Wrapped:
    """A wrapped model under watch: its Ref, its gradients and its BatchNorm layers.

    ``prepared`` when a forward of the wrapper's has its reducer average the next backward's gradients, ``unsynced``
    when the last forward was told not to.
    """

    def __init__(self, ref: Ref, gradients: "GradientWatch", norms: "NormWatch") -> None:
        self.ref = ref
        self.gradients = gradients
        self.norms = norms
        self.prepared = False
        self.unsynced = False
        self.backwards = 0
        self.pending: dict[str, Any] | None = (
            None  # the ModelWrapped event that is written again with the norms' values
        )


class Wrappers:
    """The wrapped models of this process, and the modules that they are made of."""

    def __init__(self) -> None:
        self.all: weakref.WeakKeyDictionary[Any, Wrapped] = weakref.WeakKeyDictionary()
        self.inner: weakref.WeakKeyDictionary[Any, Wrapped] = weakref.WeakKeyDictionary()

"""The training step: forwards, backwards, gradients and optimiser steps."""

from ddpdoctor.atom import Formula
from ddpdoctor.events.base import Event
from ddpdoctor.named import NamedTuple
from ddpdoctor.place import Place
from ddpdoctor.value import Ref, Value


class Forward(Event):
    """P O: a model is called. ``via`` is ``wrapper`` (DDP's own forward), ``module`` (what a wrapper holds, reached
    around it) or ``model`` (never wrapped, or before the wrap); ``grad`` whether gradients are recorded, ``training``
    the mode that the model was last put into. P: ``fixed_norms`` is whether the BatchNorm layers in a wrapper were put
    into evaluation mode by themselves. ``synced`` is the formula under which the gradients of a wrapper's
    forward will be averaged: not in ``no_sync()``, nor while its ``require_backward_grad_sync`` is false (both are read
    in the forward); ``wrappers`` are the wrapper that is called, or those that are gone around. O: ``inputs`` is a
    digest of what a wrapper got, in its first passes.
    """

    model: Value
    via: str
    grad: bool = True
    training: bool | None = None
    synced: Formula = True
    fixed_norms: bool = False
    wrappers: tuple[Ref, ...] = ()
    batches: tuple[Ref, ...] = ()
    inputs: str | None = None


class Backward(Event):
    """P O: a backward pass. P: ``forwards`` are the forwards that its loss came from, by their ``order``, and
    ``batches`` the loaders whose batches did; ``own_part`` is whether a rank's own part of something did (of a batch);
    ``scaler`` is what the loss was multiplied by, ``None`` where by no gradient scaler. ``averaged_by`` is a framework
    that was asked for it and has a replica of the model on every rank (``accelerator.backward(loss)``);
    ``decided`` is the test on the rank that it stands under.
    O: ``reduced`` says whether any wrapper's reducer averaged gradients in it, ``bypassed`` which wrapped models got
    gradients without.
    """

    forwards: tuple[int, ...] = ()
    batches: tuple[Ref, ...] = ()
    own_part: bool = False
    scaler: Value | None = None
    averaged_by: str | None = None
    decided: Place | None = None
    reduced: bool | None = None
    bypassed: tuple[Ref, ...] = ()


class ParameterSeen(NamedTuple):
    """What one backward did to one parameter: sizes and strides in elements, ``bytes`` of its gradient.

    ``raw`` are the strides of the gradient as autograd delivered it, ``grad`` as DDP's reducer found it, ``view`` those
    of its slot in the bucket; ``copied`` whether autograd cloned it into another layout; ``warned`` whether DDP said
    that its strides do not match.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    dense: bool
    raw: tuple[int, ...] | None
    grad: tuple[int, ...] | None
    view: tuple[int, ...]
    copied: bool
    warned: bool
    bytes: int


class GradientsSeen(Event):
    """O: the gradients of one wrapper after one backward; ``step`` counts its backwards from 1."""

    wrapper: Ref
    step: int
    parameters: tuple[ParameterSeen, ...]
    unused: tuple[str, ...] = ()
    digest: str | None = None


class OptimizerStep(Event):
    """P O: an optimiser takes a step. P: ``models`` are those whose parameters it was given, as far as known."""

    optimizer: Ref | None = None
    models: tuple[Ref, ...] = ()
    number: int = 0

"""Whether a wrapper averages gradients: ``no_sync()``, and the attribute that it writes."""

import ast

from ddpdoctor.atom import Formula
from ddpdoctor.events import GradientsZeroed, SyncSwitched
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Opaque, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.formulas import truth_of
from ddpdoctor.reader.library.kinds import WRAPPERS
from ddpdoctor.reader.lowering import lower
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import NO_TAGS
from ddpdoctor.reader.walk import Walk

FLAG = "require_backward_grad_sync"
"""What ``no_sync()`` sets to false for its block, and scripts write by hand (torch/nn/parallel/distributed.py)."""


def wrapper_of(value: Abstract) -> Made | None:
    """Return the wrapper that a value is, or is an object of a class derived from one."""
    made = value.inner if isinstance(value, Object) else value
    return made if isinstance(made, Made) and made.path in WRAPPERS else None


def synced(walk: Walk, value: Abstract) -> Formula:
    """Return the formula under which a wrapper that is called now will average the gradients of this forward."""
    if not isinstance(value, (Made, Object)):
        return True
    for block in walk.within:
        if block.kind == "no_sync" and not walk.unsynced.get(block.place, {None}).isdisjoint({value.ref, None}):
            return False
    cell = value.attributes.get(FLAG)
    return True if cell is None else truth_of(walk, read(cell, walk.path))


def flag_written(walk: Walk, value: Abstract, name: str, node: ast.AST) -> None:
    """Note ``model.require_backward_grad_sync = …``."""
    if name == FLAG:
        walk.emit(SyncSwitched, node, model=lower(value), by=name)


def _no_sync(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if receiver is None:
        return None
    walk.emit(SyncSwitched, call.node, model=lower(receiver), by="no_sync")
    made = walk.make(call._replace(args=(), kwargs={}), NO_TAGS, "no_sync")
    made.inner = receiver if wrapper_of(receiver) is not None else None
    return made


def _switched(walk: Walk, call: Call) -> Abstract | None:
    """``model.set_requires_gradient_sync(False)``, apex's ``model.disable_allreduce()`` and the like."""
    if call.receiver is not None:
        walk.emit(SyncSwitched, call.node, model=lower(call.receiver), by=call.path.rpartition(".")[2])
    return None


def _accumulate(walk: Walk, call: Call) -> Abstract | None:
    """``with accelerator.accumulate(model)``: only the last of the batches that come to a step is averaged."""
    if not isinstance(call.receiver, Made) or not call.receiver.path.startswith("accelerate."):
        return None
    walk.emit(SyncSwitched, call.node, model=lower(call.args[0] if call.args else NONE), by="accumulate")
    return None


def _in_no_sync(walk: Walk, manager: Abstract, node: ast.AST) -> tuple[str, Abstract]:
    held = manager.inner if isinstance(manager, Made) else None
    ref = held.ref if isinstance(held, (Made, Object)) else None
    walk.unsynced.setdefault(walk.place(node), set()).add(ref)
    return "no_sync", manager


def _zero_grad(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if isinstance(receiver, (Made, Object, Opaque, Attribute)):
        walk.emit(GradientsZeroed, call.node, of=lower(receiver))
    return NONE


def gradient_dropped(walk: Walk, value: Abstract, new: Abstract, node: ast.AST) -> None:
    """Note ``p.grad = None``."""
    if known(new, 0) is None:
        walk.emit(GradientsZeroed, node, of=lower(value))


METHODS = {
    "no_sync": _no_sync,
    "accumulate": _accumulate,
    "no_backward_sync": _switched,
    "set_requires_gradient_sync": _switched,
    "disable_allreduce": _switched,
    "enable_allreduce": _switched,
    "zero_grad": _zero_grad,
}
CONTEXTS = {"no_sync": _in_no_sync}

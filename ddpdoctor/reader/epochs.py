"""What making an iterator does: the script's own samplers and loaders run, and a loader's epoch begins."""

import ast

from ddpdoctor.events import EpochBegun
from ddpdoctor.place import Place
from ddpdoctor.reader.abstract import NONE, Abstract, Opaque, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.functions import run_body
from ddpdoctor.reader.iteration import PASSING, around, loaders_in, passes
from ddpdoctor.reader.library.kinds import LOADER
from ddpdoctor.reader.objects import Function, Generator, Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

ITERATOR = "builtins.iter"


def iterator(walk: Walk, call: Call) -> Abstract:
    """``iter(loader)``: an epoch begins, except where only one batch is looked at (``next(iter(loader))``)."""
    iterated = own_iterator(walk, call.args[0], call.node, call.frame)
    if isinstance(iterated, Generator):
        return iterated
    made = walk.make(call._replace(args=(iterated, *call.args[1:]), path=ITERATOR))
    if call.node is not walk.first_look:
        begin_epochs(walk, iterated, call.node, call.frame, walk.place(call.node))
    return made


def begin_epochs(walk: Walk, iterated: Abstract, node: ast.AST, frame: Frame, place: Place) -> None:
    """Record that the loaders in a value begin an epoch; those of iterators in it have begun theirs."""
    begun = _begun(iterated)
    for loader in loaders_in(iterated):
        if loader not in begun:
            walk.emit(EpochBegun, node, place=place, loader=loader)
    _run_samplers(walk, iterated, node, frame)


def _begun(value: Abstract, depth: int = 4) -> frozenset[Ref]:
    if not isinstance(value, Made) or depth == 0:
        return frozenset()
    if value.path == ITERATOR:
        return frozenset(loaders_in(value))
    return frozenset().union(*(_begun(arg, depth - 1) for arg in value.args))


def _run_samplers(walk: Walk, iterated: Abstract, node: ast.AST, frame: Frame) -> None:
    """Run the ``__iter__`` of the script's own samplers, as making a loader's iterator does."""
    made = iterated.args[0] if isinstance(iterated, Made) and iterated.path in PASSING and iterated.args else iterated
    loader = made.inner if isinstance(made, Object) else made
    if not isinstance(loader, Made) or loader.path != LOADER:
        return
    for name, position in (("sampler", 3), ("batch_sampler", 4)):
        for _, sampler in options(loader.argument(name, position) or NONE):
            method = class_attribute(walk, sampler.cls, "__iter__") if isinstance(sampler, Object) else None
            if isinstance(method, Function):
                dead = walk.dead
                run_body(walk, method, Call((sampler,), {}, node, frame), lambda value: value)
                walk.dead = dead


def own_iterator(walk: Walk, iterated: Abstract, node: ast.AST, frame: Frame) -> Abstract:
    """Return what iterating an object of the project really goes over: what its ``__iter__`` yields or returns.

    It may be iterated through ``enumerate`` or a progress bar.
    """
    if isinstance(iterated, Made) and iterated.args and passes(iterated):
        first = iterated.args[0]
        inner = own_iterator(walk, first, node, frame)
        return iterated if inner is first else around(iterated, inner)
    if isinstance(iterated, Object):
        method = class_attribute(walk, iterated.cls, "__iter__")
        if isinstance(method, Function):
            if walk.syntax.is_generator(method.node):
                return Generator(method, Call((iterated,), {}, node, frame))
            result = run_body(walk, method, Call((iterated,), {}, node, frame))
            if result is not iterated and not (isinstance(result, Opaque) and iterated.inner is not None):
                return result
        if iterated.inner is not None:
            return iterated.inner
    return iterated

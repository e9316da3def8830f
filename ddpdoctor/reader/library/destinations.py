"""Where what is loaded goes: the devices that a ``map_location`` names."""

from ddpdoctor.reader.abstract import NONE, Abstract, Opaque, Table, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.library.devices import DEVICE, device_of, use_device
from ddpdoctor.reader.objects import Bound, Function, Made, Partial
from ddpdoctor.reader.walk import Walk


def load_onto(walk: Walk, location: Abstract | None, call: Call) -> None:
    """Record the GPUs that loaded tensors are put on: as torch/serialization.py, _get_restore_location, tells them.

    A string or a device is where all go, a dictionary has it by where they were, and a function puts each there.
    """
    before = walk.path
    for when, option in options(location or NONE):
        here = walk.assuming_also(when)
        if here is None:
            continue
        walk.path = here
        if isinstance(option, Table):
            for cell in option.cells.values():
                _put(walk, read(cell, walk.path), call)
        elif isinstance(option, (Function, Bound, Partial)):
            walk.call(option, call._replace(args=(Opaque("storage"), Opaque("its place")), kwargs={}, receiver=None))
        else:
            _put(walk, option, call)
        walk.path = before


def _put(walk: Walk, where: Abstract, call: Call) -> None:
    """Record a GPU that is named with its index; a bare number is none: ``torch.load`` takes it for a function."""
    before = walk.path
    for when, option in options(where):
        here = walk.assuming_also(when)
        named = (isinstance(option, Made) and option.path == DEVICE) or (isinstance(option, Opaque) and option.parts)
        if here is not None and named and device_of(option).index is not None:
            walk.path = here
            use_device(walk, option, call.path, call.node)
            walk.path = before


def _restore(walk: Walk, call: Call) -> Abstract | None:
    """``default_restore_location(storage, "cuda:1")``: what a function given as ``map_location`` calls."""
    load_onto(walk, call.argument("location", 1), call)
    return call.argument("storage", 0)


FUNCTIONS = {"torch.serialization.default_restore_location": _restore}

"""Files, and the states of models and optimisers that go into them and come out of them."""

from ddpdoctor.atom import Condition
from ddpdoctor.events.base import Event
from ddpdoctor.named import NamedTuple
from ddpdoctor.value import NONE, Ref, Value


class State(NamedTuple):
    """A model's or optimiser's ``state_dict()`` in what is saved: under which ``keys`` of the dictionary, and when.

    ``prefixed``: it is a wrapper's, each of whose keys begins with ``module.``; ``module``: it is a model's at all.
    """

    keys: tuple[str, ...]
    of: Ref
    prefixed: bool
    module: bool
    when: Condition


class FileUsed(Event):
    """P O: a file is used; ``op`` is ``save`` (a checkpoint), ``write`` (anything else), ``append``, ``load``,
    ``download`` or ``remove``, ``by`` the call.

    P: ``path`` may be a symbol; its taint says whether it depends on the rank. ``states`` are those in what is saved,
    ``keys`` the names of its items where it is a dictionary; ``map_location`` is where ``torch.load`` is told to put
    tensors; ``loaders`` are those from whose batches alone the rank computed what it writes; ``timed`` is whether
    what it measured by its own clock is in it.
    """

    op: str
    path: Value
    by: str
    states: tuple[State, ...] = ()
    keys: tuple[str, ...] = ()
    map_location: Value = NONE
    loaders: tuple[Ref, ...] = ()
    timed: bool = False


class SampleCached(Event):
    """P: drawing a sample out of a loader's data set writes a file where it is missing, and reads it where it is not.

    ``path`` is that file, which the sample names; the loader's workers do it, those of every rank.
    """

    loader: Ref
    path: Value


class FileAwaited(Event):
    """P: a loop goes round until a file is there."""


class ItemTaken(Event):
    """P: an item is taken by its name out of what was read from a file; ``read`` are the loads by their ``order``."""

    read: tuple[int, ...]
    key: str


class StateLoaded(Event):
    """P: a model or an optimiser (``into``) takes over a state.

    ``read`` are the loads of the file that it comes from, by their ``order``, and ``keys`` the items that lead to it,
    ``None`` where it is made of them, or something may have changed the names in it;
    ``direct`` is the state itself where it never was in a file. ``prefixed`` is whether ``into`` is a wrapper,
    ``module`` whether it is a model, and ``strict`` whether keys that do not fit are refused. A model that was stored
    whole is loaded into nothing: ``into`` is then ``None``.
    """

    into: Value
    read: tuple[int, ...] = ()
    keys: tuple[str, ...] | None = None
    direct: State | None = None
    prefixed: bool = False
    module: bool = False
    strict: bool = True

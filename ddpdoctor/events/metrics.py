"""Numbers that tell how good a model is, and what is done with them."""

from ddpdoctor.events.base import Event
from ddpdoctor.value import Ref


class Reported(Event):
    """P: numbers that were computed from batches are put to use.

    ``how`` is ``print``, ``log`` (a logger or a tracker), ``epoch`` (Lightning logs their mean over an epoch) or
    ``schedule`` (a learning-rate scheduler is told them), and ``by`` the call. ``loaders`` are those of which the rank
    computed the numbers by itself, from its own batches alone; ``added`` those of which the numbers of all ranks were
    added up. ``names_rank`` is whether the rank stands beside them.
    """

    how: str
    by: str
    loaders: tuple[Ref, ...] = ()
    added: tuple[Ref, ...] = ()
    names_rank: bool = False

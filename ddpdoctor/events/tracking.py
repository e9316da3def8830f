"""Experiment trackers."""

from ddpdoctor.events.base import Event


class TrackerStarted(Event):
    """P: a run of an experiment tracker begins, or a writer of its files is made; ``by`` is the call.

    ``apart`` is whether the ranks' own are kept apart on purpose: a group, or the rank in a name or folder.
    """

    by: str
    apart: bool = False

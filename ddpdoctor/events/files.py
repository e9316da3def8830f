"""Files."""

from ddpdoctor.events.base import Event
from ddpdoctor.value import Value


class FileUsed(Event):
    """P O: a file is used; ``op`` is ``save`` (a checkpoint), ``write`` (anything else), ``load``, ``download`` or
    ``remove``, ``by`` the call.

    P: ``path`` may be a symbol; its taint says whether it depends on the rank.
    """

    op: str
    path: Value
    by: str

"""Whether a process is in its group already where it comes to a place."""

from ddpdoctor.events import Event, GroupDestroyed, GroupInit
from ddpdoctor.trace import Predicted


def has_joined(trace: Predicted, event: Event) -> bool:
    """Whether the process has met the others before, whichever way it comes here, and has not left them since.

    A second ``init_process_group`` raises (torch/distributed/distributed_c10d.py): what sets a group up where there is
    none does nothing here.
    """
    since: GroupInit | None = None
    for init in trace.of(GroupInit):
        if init.process == event.process and init.order < event.order and init.when <= event.when:
            since = init
    if since is None:
        return False
    return not any(since.order < left.order < event.order for left in trace.of(GroupDestroyed))

"""A download that every rank starts at once, to the same place."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, holds_by_default, literals
from ddpdoctor.events import MAIN, Collective, FileUsed
from ddpdoctor.facts import (
    excludes,
    for_some_ranks_only,
    is_cache,
    is_distributed,
    is_rank_process,
    owned,
    runs_distributed,
)
from ddpdoctor.finding import Fault, Fix, Severity
from ddpdoctor.trace import Predicted

ATOMIC = frozenset(
    {
        "torch.hub.load_state_dict_from_url",
        "torch.hub.download_url_to_file",
        "torch.utils.model_zoo.load_url",
    }
)
"""They write a temporary file and rename it when it is whole (torch/hub.py): the worst is a download too many."""
BARRIERS = frozenset({"barrier", "monitored_barrier"})


def every_rank_downloads(trace: Predicted) -> Iterator[Fault]:
    """Find downloads that all ranks reach, and that none has made before the others."""
    if not is_distributed(trace) or owned(trace, "launch"):
        return
    downloads = [event for event in trace.of(FileUsed) if event.op == "download" or is_cache(trace, event)]
    for event in downloads:
        if not is_rank_process(trace, event) or for_some_ranks_only(event) or not runs_distributed(event):
            continue
        if event.by in ATOMIC or event.is_within("lock") or not _usual(event):
            continue
        if "rank" in event.path.taint or _made_before(downloads, event) or _one_rank_goes_first(trace, event):
            continue
        yield Fault(
            place=event.place,
            message="every rank downloads to the same place at once: they read each other's half-written files",
            event=event,
            fix=Fix(
                description="download in the parent before the spawn, or on local rank 0 first with a barrier after it"
            ),
        )


def _usual(event: FileUsed) -> bool:
    """Whether no option that the user has to give decides on a download: then it is the user's configuration."""
    if holds_by_default(as_formula(event.when)) is False:
        return False
    options = [literal.atom for literal in literals(event.when) if literal.atom.kind == "configuration"]
    return all(atom.by_default is not None for atom in options)


def _made_before(downloads: list[FileUsed], event: FileUsed) -> bool:
    """Whether one rank, or the parent of the ranks, has downloaded the same before."""
    for other in downloads:
        by_parent = other.process == MAIN and other.process != event.process
        if other.order < event.order and other.by == event.by and (by_parent or for_some_ranks_only(other)):
            return True
    return False


def _one_rank_goes_first(trace: Predicted, event: FileUsed) -> bool:
    """Whether the others wait in a barrier before the download, and the first meets them in one after it."""
    barriers = [one for one in trace.of(Collective) if one.op in BARRIERS and one.process == event.process]
    before = [one for one in barriers if one.order < event.order and for_some_ranks_only(one)]
    after = [one for one in barriers if one.order > event.order and for_some_ranks_only(one)]
    return any(excludes(first.when, second.when) for first in before for second in after)


CHECK = Check(
    name="download-race",
    summary="every rank downloads to the same place at once",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(FileUsed,),
    predict=every_rank_downloads,
)

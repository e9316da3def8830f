"""One path that every rank writes."""

import re
from collections.abc import Iterator

from ddpdoctor.atom import Atom
from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula
from ddpdoctor.events import Collective, FileUsed, GroupInit, LoaderBuilt, ModelWrapped
from ddpdoctor.facts import (
    finished,
    in_group,
    is_cache,
    is_launched_for_accelerate,
    is_rank_process,
    kept_for_the_record,
    owned,
)
from ddpdoctor.facts.evaluation import is_dealt_out_to
from ddpdoctor.facts.ranks import for_some_ranks_only, guarded_by_rank, runs_distributed
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, callers, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Value


def every_rank_writes(trace: Predicted) -> Iterator[Fault]:
    """Find files that all ranks write under one name."""
    accelerated = is_launched_for_accelerate(trace)
    if owned(trace, "save") or not (accelerated or trace.of(GroupInit)):
        return
    written = [event for event in trace.of(FileUsed) if event.op in WRITING and _is_a_result(trace, event)]
    told: set[str] = set()
    emptied: set[Place] = set()
    for event in written:
        if "rank" in event.path.taint or guarded_by_rank(trace, written, event):
            continue
        if is_cache(trace, event) or not is_rank_process(trace, event) or not runs_distributed(event):
            continue
        log = event.by in LOGS
        early = log or event.op == "write"  # opened before there is a group, often
        if not accelerated and not any(init.order < event.order or early for init in in_group(trace, event)):
            continue
        if event.op == "save":
            yield _saved(event)
        elif log and not event.path.taint & OWN and event.place not in emptied:
            emptied.add(event.place)
            yield _emptied(event)
        elif _is_the_same_everywhere(trace, event) and event.path.text() not in told:
            told.add(event.path.text())
            yield _added(event) if event.op == "append" else _overwritten(event)
        elif event.op == "append":
            continue
        elif event.op == "download" and event.path.text() not in told:
            told.add(event.path.text())
            yield _answered(event)
        elif not log and event.path.text() not in told:
            used = _used_later(trace, event)
            if used is not None:
                told.add(event.path.text())
                yield _anew(event, used)


WRITING = frozenset({"save", "write", "append", "download"})


def _is_a_result(trace: Predicted, event: FileUsed) -> bool:
    return event.op != "download" or kept_for_the_record(trace, event)


def _saved(event: FileUsed) -> Fault:
    return Fault(
        place=event.place,
        message=f"{_who(event)} {_name(event.path)} at the same time: the file can end up corrupt",
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="save on rank 0 only (if dist.get_rank() == 0), or put the rank into the file's name"),
    )


def _overwritten(event: FileUsed) -> Fault:
    what = "what it found in its own part of the data" if event.loaders else "the times that it measured"
    return Fault(
        place=event.place,
        message=f"{_who(event)} {what} to {_name(event.path)}: one rank's is left",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="write it on rank 0 only (if dist.get_rank() == 0), or put the rank into the file's name"),
    )


def _added(event: FileUsed) -> Fault:
    return Fault(
        place=event.place,
        message=f"every rank adds what it found in its own part of the data to {_name(event.path)}: "
        "a line from each, with no word of whose it is",
        severity=Severity.NOTE,
        confidence=Confidence.MEDIUM,
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="add it on rank 0 only (if dist.get_rank() == 0), averaged over the ranks"),
    )


def _emptied(event: FileUsed) -> Fault:
    removed = "it removes the file that others log to, and their lines are lost"
    effect = removed if event.by == "os.remove" else "it empties the file, and its lines end up over the others'"
    return Fault(
        place=event.place,
        message=f"{_opens(event)} {_name(event.path)} anew: {effect}",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="add the handler on rank 0 only, or put the rank into the file's name"),
    )


def _answered(event: FileUsed) -> Fault:
    return Fault(
        place=event.place,
        message=f"{_who(event)} the answer that it got to {_name(event.path)} at the same time: one rank's is left",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="ask and write on rank 0 only (if dist.get_rank() == 0)"),
    )


def _anew(event: FileUsed, used: FileUsed) -> Fault:
    added = used.op == "append"
    effect = (
        "a late one empties it of the lines that are there" if added else "and one reads what another has half written"
    )
    return Fault(
        place=event.place,
        message=f"{_who(event)} {_name(event.path)} anew: {effect}",
        severity=Severity.NOTE if added else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        places=(Label(place=used.place, text="added to here" if added else "read here"), *callers(event, most=2)),
        event=event,
        fix=Fix(description="write it on rank 0 only (if dist.get_rank() == 0), with a barrier before it is used"),
    )


LOGS = frozenset({"logging.FileHandler", "logging.basicConfig", "os.remove"})
"""They open a log file when they are called, and each process writes on from where it is in it.

One that is removed before it is opened, to be added to, goes by what removes it.
"""


def _opens(event: FileUsed) -> str:
    return "some ranks each open" if for_some_ranks_only(event) else "every rank opens"


def _who(event: FileUsed) -> str:
    return "several ranks write" if for_some_ranks_only(event) else "every rank writes"


def _is_the_same_everywhere(trace: Predicted, event: FileUsed) -> bool:
    """Whether what each rank found in its own part of the data is written under one name, by who gives no options.

    What is the same on all ranks, as options are, comes to no harm: each writes the bytes that are there already.
    """
    parts = [loader for loader in trace.of(LoaderBuilt) if loader.loader in event.loaders]
    if (
        not event.by.endswith(".export_chrome_trace")
        and not event.timed
        and not any(is_dealt_out_to(trace, event, loader) for loader in parts)
    ):
        return False
    if event.path.taint & OWN or holds_by_default(as_formula(event.when)) is False or event.is_within("lock"):
        return False
    name = event.path.text()
    others = (one for one in trace.of(FileUsed) if one.op in ("save", "download") and one.path.text() == name)
    return not _is_made_up(name) and not any(True for _ in others)


def _used_later(trace: Predicted, event: FileUsed) -> FileUsed | None:
    """Return where a file that every rank empties is added to, or read before the ranks have met."""
    if event.path.taint & OWN or _is_made_up(event.path.text()) or event.is_within("lock"):
        return None
    trained = frozenset().union(*(wrap.when for wrap in trace.of(ModelWrapped)))
    if not all(literal in trained or _is_plain(literal.atom) for literal in event.when):
        return None
    meeting = min((one.order for kind in MEETINGS for one in trace.of(kind) if one.order > event.order), default=None)
    for later in trace.of(FileUsed):
        if later.order <= event.order or later.process != event.process or later.path.text() != event.path.text():
            continue
        if later.op == "append" or (later.op == "load" and (meeting is None or later.order < meeting)):
            return later
    return None


MEETINGS = (Collective, ModelWrapped, GroupInit)
"""Where a rank waits for the others."""


def _is_plain(atom: Atom) -> bool:
    """Whether a test is on the launch alone, or on an option that has a default."""
    if atom.inside:
        return all(map(_is_plain, atom.inside))
    return atom.kind == "world" or (atom.kind == "configuration" and atom.by_default is not None)


OWN = frozenset({"rank", "shard", "data", "clock", "batch"})
"""What a name can be made of that differs between ranks."""


def _name(path: Value) -> str:
    """Name a file as the script does, and leave out what no reader of it would know: how a part of it came to be."""
    name = INNER.sub("{…}", path.text())
    return "one file" if MADE_UP.search(name) else name


INNER = re.compile(r"\{[^{}]*[^\w.\[\]'\"{}][^{}]*\}")
"""A part of a name that is more than a variable, an attribute or an item."""
MADE_UP = re.compile(r"@[\w.]*:?\d|\bline \d")
ROUND = re.compile(r"\bindex in line \d+")


def _is_made_up(name: str) -> bool:
    """Whether a part of a name is not known; the number of a round is: all ranks have the same."""
    return MADE_UP.search(ROUND.sub("", name)) is not None


def ranks_wrote_one_path(fault: Fault, run: Observed) -> Verdict:
    """Compare the paths that the ranks wrote here."""
    here = [event for event in seen_at(run.of(FileUsed), fault.place) if event.op == "save"]
    if not here and fault.event is not None and getattr(fault.event, "op", "") == "write":
        return not_reached("a run records what is saved, and not whatever else is written into files")
    if not here:
        return not_reached("no rank came to this line")
    writers: dict[str, set[int]] = {}
    for event in here:
        if event.rank is not None:
            writers.setdefault(_path(event), set()).add(event.rank)
    shared = {path: sorted(ranks) for path, ranks in writers.items() if len(ranks) > 1}
    if shared:
        path, ranks = next(iter(shared.items()))
        names = " and ".join(map(str, ranks))
        return confirmed(
            f"ranks {names} both wrote {path}" if len(ranks) == 2 else f"ranks {names} wrote {path}", paths=shared
        )
    paths = {path: sorted(ranks) for path, ranks in writers.items()}
    wrote = frozenset().union(*writers.values())
    open_ones = sorted(frozenset(run.ranks) - wrote - finished(run))
    if open_ones:
        names = " and ".join(map(str, open_ones))
        return not_reached(
            f"rank {names} did not come to its end: whether it writes here too is not known", paths=paths
        )
    if len(wrote) < 2 and _may_come_to_it(fault):
        return not_reached(
            f"only rank {here[0].rank} wrote here in this run, after a test that another rank can pass later",
            paths=paths,
        )
    if len(wrote) < 2:
        return refuted(f"only rank {here[0].rank} wrote here", paths=paths)
    return refuted("the ranks wrote different paths", paths=paths)


def _may_come_to_it(fault: Fault) -> bool:
    """Whether something else than the rank decides about a save: the data, or a file that another rank was first with.

    A rank that has not written in the few steps of a run may still do so.
    """
    return fault.event is not None and any(_is_the_ranks_own(literal.atom) for literal in fault.event.when)


def _is_the_ranks_own(atom: Atom) -> bool:
    return atom.kind in ("data", "other") or any(map(_is_the_ranks_own, atom.inside))


def _path(event: FileUsed) -> str:
    value = getattr(event.path, "value", None)
    return str(value) if value is not None else event.path.text()


CHECK = Check(
    name="save-on-every-rank",
    summary="every rank writes the same file",
    severity=Severity.ERROR,
    layers=("source", "probe"),
    triggers=(FileUsed,),
    predict=every_rank_writes,
    judge=ranks_wrote_one_path,
)

"""A download that every rank starts at once, to the same place."""

import re
from collections.abc import Iterator

from ddpdoctor.atom import ALWAYS, Condition, Literal
from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, compatible, literals
from ddpdoctor.events import (
    MAIN,
    Backward,
    Collective,
    DatasetBuilt,
    Event,
    FileAwaited,
    FileUsed,
    FrameworkOwns,
    GroupInit,
    ModelWrapped,
    ProcessStarted,
    SampleCached,
)
from ddpdoctor.facts import (
    is_cache,
    is_distributed,
    is_launched_for_accelerate,
    is_rank_process,
    kept_for_the_record,
    may_be_missing,
    replicas,
)
from ddpdoctor.facts.ranks import excludes, for_some_ranks_only, left_to_some_ranks, reaching, runs_distributed
from ddpdoctor.finding import Fault, Fix, Label, Severity, callers
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Constant
from ddpdoctor.world import WORLDS

ATOMIC = frozenset(
    {
        "torch.hub.load_state_dict_from_url",
        "torch.hub.download_url_to_file",
        "torch.utils.model_zoo.load_url",
    }
)
"""They write a temporary file and rename it when it is whole (torch/hub.py): the worst is a download too many."""
MEETINGS: tuple[type[Event], ...] = (Collective, ModelWrapped, GroupInit, FileAwaited)
"""In all of them a rank waits for the others: DDP's constructor compares the parameters' shapes."""
UNPACKING = (".extractall", "shutil.unpack_archive", "utils.extract_archive")
BARRIERS = frozenset({"barrier", "monitored_barrier", "multiprocessing barrier"})


def every_rank_downloads(trace: Predicted) -> Iterator[Fault]:
    """Find downloads that all ranks reach, and that none has made before the others."""
    launched = any("launch" in event.duties for event in trace.of(FrameworkOwns))
    if not (is_launched_for_accelerate(trace) if launched else is_distributed(trace)):
        return
    yield from others_read_meanwhile(trace)
    downloads = [event for event in trace.of(FileUsed) if event.op == "download" or is_cache(trace, event)]
    made = {event.path.text() for event in downloads if event.op == "download"}
    for event in downloads:
        if event.by in ATOMIC or event.is_within("lock") or kept_for_the_record(trace, event):
            continue
        if not _is_for_every_rank(trace, event):
            continue
        if "rank" in event.path.taint or _made_before(trace, downloads, event) or _one_rank_goes_first(trace, event):
            continue
        if event.op == "download":
            yield _downloaded(event)
        elif event.path.text() not in made:
            made.add(event.path.text())
            yield _made(event)
    yield from _made_sample_by_sample(trace)


def _made_sample_by_sample(trace: Predicted) -> Iterator[Fault]:
    """Find files that what draws a sample makes in the loaders of all ranks."""
    told: set[tuple[str, int, int]] = set()
    for event in trace.of(SampleCached):
        if event.place.spot() in told or "rank" in event.path.taint or not _is_for_every_rank(trace, event):
            continue
        told.add(event.place.spot())
        yield Fault(
            place=event.place,
            message="every rank makes the files that it finds missing for its samples: where two ranks draw one sample "
            "(padding, a draw with replacement) one reads what the other has half written",
            severity=Severity.NOTE,
            event=event,
            fix=Fix(description="make them all before the training, or write a temporary file and rename it"),
        )


def _is_for_every_rank(trace: Predicted, event: FileUsed | SampleCached) -> bool:
    """Whether all ranks of a run that trains come to it, with no option given that asks for it."""
    return (
        is_rank_process(trace, event)
        and not _starts_the_ranks_later(trace, event)
        and not left_to_some_ranks(trace, event)
        and runs_distributed(event)
        and _usual(trace, event)
        and _comes_to_train(trace, event)
    )


def _starts_the_ranks_later(trace: Predicted, event: Event) -> bool:
    """Whether who downloads starts the ranks afterwards, though it may be the only rank where it starts none."""
    ranks = {init.process for init in trace.of(GroupInit)}
    started = (one for one in trace.of(ProcessStarted) if one.child in ranks and one.order > event.order)
    return event.process == MAIN and any(compatible(one.when, event.when) for one in started)


def others_read_meanwhile(trace: Predicted) -> Iterator[Fault]:
    """Find downloads of some ranks that the others read without having waited for them."""
    for event in trace.of(FileUsed):
        if event.op != "download" or event.is_within("lock") or not is_rank_process(trace, event):
            continue
        if not for_some_ranks_only(event) or not _usual(trace, event) or "rank" in event.path.taint:
            continue
        read = next((one for one in _reads(trace, event) if not _others_wait(trace, event, one)), None)
        if read is not None:
            yield _read_too_soon(event, read)


def _reads(trace: Predicted, download: FileUsed) -> Iterator[Event]:
    """Yield what reads later what was downloaded: a file of that name, or the same data set without a download."""
    downloaded = {event.place for event in trace.of(FileUsed) if event.op == "download"}
    files = (one for one in trace.of(FileUsed) if one.op == "load" and one.path.text() == download.path.text())
    sets = (one for one in trace.of(DatasetBuilt) if one.dataset.type == download.by)
    for event in (*files, *sets):
        follows = event.order > download.order and event.process == download.process
        if follows and event.place not in downloaded and runs_distributed(event):
            yield event


def _read_too_soon(event: FileUsed, read: Event) -> Fault:
    return Fault(
        place=event.place,
        message="only some ranks download this, and the others do not wait: they read what is not there yet",
        places=(Label(place=read.place, text="read here"), *callers(event, most=2)),
        event=event,
        fix=Fix(description="put a barrier between the download and what reads it, outside the test on the rank"),
    )


def _downloaded(event: FileUsed) -> Fault:
    does = "unpacks an archive" if event.by.endswith(UNPACKING) else "downloads"
    return Fault(
        place=event.place,
        message=f"every rank {does} to the same place at once: they read each other's half-written files",
        places=callers(event, most=2),
        event=event,
        fix=Fix(
            description="download in the parent before the spawn, or on local rank 0 first with a barrier after it"
        ),
    )


def _made(event: FileUsed) -> Fault:
    return Fault(
        place=event.place,
        message="every rank finds this file missing and writes it at once: one reads what another has half written",
        places=callers(event, most=2),
        event=event,
        fix=Fix(description="make it on local rank 0 first, with a barrier after it, or rename it when it is whole"),
    )


def _usual(trace: Predicted, event: FileUsed | SampleCached) -> bool:
    """Whether no option that the user has to give decides on a download: then it is the user's configuration.

    Which data set or published model is taken is no such option: whoever takes that one downloads it. Nor is what
    every training run needs: an option for several GPUs, or what a number has to be a multiple of. Nor is a way to
    train (``--eval``) that fetches what it finds missing, whoever has not asked for a download.
    """
    wraps = replicas(trace)
    needed = _of_all(wraps) | _of_all(trace.of(Backward))
    needed |= {one for one in event.when if may_be_missing(one, event.path) and one.atom.definition is not None}
    chosen = {_option_of(literal) for literal in event.when if literal.holds and _is_a_choice(literal)}
    asked = frozenset(one for one in event.when - needed if not _is_a_choice(one) and _option_of(one) not in chosen)
    if any(may_be_missing(one, event.path) for one in event.when):
        asked = frozenset(one for one in asked if not _is_a_mode(one))
    if holds_by_default(as_formula(asked)) is False or any(_is_about_the_place(one, event) for one in asked):
        return False
    tests = [literal for literal in literals(asked) if not (literal.holds and AGREEMENT.fullmatch(literal.atom.text))]
    options = [literal.atom for literal in tests if literal.atom.kind == "configuration"]
    return all(atom.by_default is not None or ROUND.search(atom.text) for atom in options)


AGREEMENT = re.compile(r"[A-Za-z_].* == [A-Za-z_](?!one$|rue$|alse$).*")
"""A test that what is read is what the configuration says of it, a sampling rate: who trains has such data."""


def _of_all(events: tuple[Event, ...]) -> Condition:
    """Return what all of some events need."""
    return frozenset.intersection(*(event.when for event in events)) if events else ALWAYS


ROUND = re.compile(r"\bindex in line \d| % ")
"""What a test says of the round of a loop: whoever trains on comes to it, as often as an option says."""


def _comes_to_train(trace: Predicted, event: FileUsed | SampleCached) -> bool:
    """Whether who downloads can train in the same run: a command that only downloads is for one process."""
    wraps = replicas(trace)
    return not wraps or any(compatible(wrap.when, event.when) for wrap in wraps)


def _is_a_choice(literal: Literal) -> bool:
    """Whether a test compares an option with one of several values, as ``args.data == "CIFAR"`` does.

    Or with several of them: ``args.data == "CIFAR" or args.data == "SVHN"``.
    """
    asked = parts_of(literal)
    texts = {one.atom.text for one in asked if one.atom.kind == "configuration" and CHOICE.search(one.atom.text)}
    return len(texts) == len(asked) and len({text.partition(" ")[0] for text in texts}) == 1


def _is_about_the_place(literal: Literal, event: FileUsed | SampleCached) -> bool:
    """Whether it is asked if there is a place to download to at all, and no default says so."""
    return literal.atom.by_default is None and literal.atom.text == event.path.text()


def parts_of(literal: Literal) -> tuple[Literal, ...]:
    """Return what a test is made of: itself, or what each way to meet it takes."""
    if literal.atom.definition is None:
        return (literal,)
    return tuple(one for way in literal.atom.definition for one in way)


def _option_of(literal: Literal) -> str:
    """Return the option that a test is about: ``args.ckpt`` in ``args.ckpt is None``, where it is about one."""
    about = {one.atom.text.partition(" ")[0] for one in parts_of(literal) if one.atom.kind == "configuration"}
    return about.pop() if len(about) == 1 else ""


def _is_a_mode(literal: Literal) -> bool:
    """Whether a test is on a flag that is off by default, and that says nothing of fetching or making files."""
    atom = literal.atom
    off = atom.kind == "configuration" and literal.holds and atom.by_default is False
    return off and " " not in atom.text and ASKED_FOR.search(atom.text) is None


ASKED_FOR = re.compile(r"down_?load|fetch|prepar|pull|get_data|cache|build|creat|generat|force|only|setup|init", re.I)
CHOICE = re.compile(r" (?:==|in) ['\"\[(]")


def _made_before(trace: Predicted, downloads: list[FileUsed], event: FileUsed) -> bool:
    """Whether the parent of the ranks has downloaded the same before, or one rank while the others wait for it."""
    for other in downloads:
        if other.order >= event.order or other.by != event.by or _elsewhere(other, event):
            continue
        by_parent = other.process == MAIN != event.process and compatible(other.when, event.when)
        if by_parent or (for_some_ranks_only(other) and _others_wait(trace, other, event)):
            return True
    return False


def _elsewhere(other: FileUsed, event: FileUsed) -> bool:
    """Whether two downloads certainly go to different places."""
    both = other.path, event.path
    return all(isinstance(path, Constant) for path in both) and other.path.text() != event.path.text()


def _others_wait(trace: Predicted, first: FileUsed, event: Event) -> bool:
    """Whether all ranks that download later meet the first one between the two downloads."""
    meetings = [one for kind in MEETINGS for one in trace.of(kind) if first.order < one.order < event.order]
    meetings = [one for one in meetings if one.process == event.process]
    for world in WORLDS.values():
        there = frozenset().union(*(reaching(one.when, world) for one in meetings))
        if not reaching(event.when, world) - reaching(first.when, world) <= there:
            return False
    return True


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
    triggers=(FileUsed, SampleCached),
    predict=every_rank_downloads,
)

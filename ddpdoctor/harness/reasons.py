"""Says in one line why a script could not be observed, and what to do about it."""

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Sequence

from ddpdoctor.events import Blocked, Ended, Raised
from ddpdoctor.harness import memory
from ddpdoctor.harness.plan import Plan
from ddpdoctor.place import Place
from ddpdoctor.trace import Observed

ARGUMENTS_REQUIRED = re.compile(r"the following arguments are required: (.+)")
"""How argparse tells what a script cannot do without."""

PATH_IN_MESSAGE = re.compile(r"'([^']*)'")

WROTE_TOO_MUCH = "wrote more than the run may write"

CONTAINED = (
    (re.compile(r"\[Errno 28\]|No space left on device"), WROTE_TOO_MUCH),
    (
        re.compile(r"\[Errno 18\]|Invalid cross-device link"),
        "renamed a folder, which the overlay of an ordinary user cannot do",
    ),
    (
        re.compile(r"\[Errno 75\]|Value too large for defined data type"),
        "changes a file of another user or group, which the overlay of an ordinary user cannot do",
    ),
    (re.compile(r"\[Errno 30\]|Read-only file system"), "writes where the run can only read"),
    (
        re.compile(
            r"Network is unreachable|Temporary failure in name resolution|Name or service not known|"
            r"nodename nor servname|Max retries exceeded|Cannot assign requested address"
        ),
        "wants the network, which the run does not have",
    ),
)
"""What goes wrong only because the run is contained: by the text of what a library or the system raised."""

REFUSED_BY_COPY = re.compile(r"\[Errno (?:1|13)\]")
"""The exceptions of a script that writes outside its copy, or to what is only linked there: EPERM, EACCES."""

LONGEST_MESSAGE = 160


def shown(path: str, directory: str) -> str:
    """Return a path as a person would write it in the working directory."""
    inside = path.startswith(directory.rstrip("/") + "/")
    return os.path.relpath(path, directory) if inside else path


def where(place: Place, plan: Plan) -> str:
    """Return a place as ``train.py:12``."""
    return f"{shown(place.file, plan.directory)}:{place.line}"


def command(plan: Plan, *more: str) -> str:
    """Return the command that runs the same plan with more arguments for the script."""
    layer = "--probe" if "probe" in plan.layers else "--run"
    given = shlex.join(plan.arguments)
    script = shlex.quote(shown(plan.script, plan.directory))
    return " ".join(part for part in ("ddpdoctor check", script, layer, "--", given, *more) if part)


def missing(raised: Raised, plan: Plan) -> str:
    """Return what the script wanted and did not get, and the words to pass."""
    name = os.path.basename(plan.script)
    wanted = raised.missing or raised.message
    at = where(raised.place, plan)
    if raised.type.endswith(("ModuleNotFoundError", "ImportError")):
        return f"{name} imports {wanted} ({at}), which is not installed here: install it beside ddpdoctor"
    if raised.type.endswith("SystemExit"):
        required = ARGUMENTS_REQUIRED.search(wanted)
        names = [word.strip() for word in required[1].split(",")] if required else []
        if names:
            said = f"{name} needs the arguments {', '.join(names)}"
            return f"{said}: pass them after --, as in `{command(plan, *map(_example, names))}`"
        said = f"{name} does not take its arguments as they are ({_short(wanted)})"
        if plan.arguments:
            return f"{said}: change what stands after -- in `{command(plan)}`"
        return f"{said}: pass them after --, as in `{command(plan)}`"
    said = f"{name} wants {_short(wanted)} ({at}), which is not there"
    if os.path.lexists(os.path.join(plan.directory, wanted)):
        return f"{said} any more: in the run, which changes nothing outside it, the script has removed it"
    return f"{said}: put it there, or pass another path after --, where the script takes one"


def contained(raised: Raised, directory: str, *, by_copy: bool) -> str | None:
    """Return what a script did that only the containment forbids, and ``None`` for an exception of its own.

    ``directory`` is the working directory.
    """
    said = raised.foreign
    if said is None:
        return None
    for pattern, did in CONTAINED:
        if pattern.search(said):
            return did
    if by_copy and raised.type.endswith(("PermissionError", "OSError")) and REFUSED_BY_COPY.search(said):
        named = PATH_IN_MESSAGE.search(said)
        if named and _user_may_write(os.path.join(directory, named[1])):
            return f"writes to {named[1]}, which the copy that it runs in does not allow"
    return None


def no_space(raised: Raised, plan: Plan, size: int | None) -> str:
    """Return that there was no space left to write; ``size`` bytes were there where the run's files are in memory."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < memory.SCRATCH_LEAST:
        return f"the temporary folder {folder}, which holds the run, is full: set TMPDIR to one with more space"
    at = where(raised.place, plan)
    if size is None:
        return f"the script {WROTE_TOO_MUCH} ({at}): {folder} has no more space, TMPDIR names another folder"
    return f"the script {WROTE_TOO_MUCH} ({at}): {memory.words(size)}, for the run's files are kept in free memory"


def raises(raised: Raised, plan: Plan, before: str) -> str:
    """Return that the script raised an exception before it came to what was to be observed."""
    name = os.path.basename(plan.script)
    if raised.type.startswith("SIG"):
        return f"{name} is killed by {raised.type} ({where(raised.place, plan)}) before it {before}"
    if raised.status is not None:
        said = f", saying {_short(raised.message)!r}," if raised.message else ""
        return f"{name} ends with status {raised.status} ({where(raised.place, plan)}){said} and never {before}"
    return f"{name} raises {_short(exception(raised))} ({where(raised.place, plan)}) before it {before}"


def failed(raised: Raised, plan: Plan, when: str) -> str:
    """Return that the script failed, and when."""
    name, at = os.path.basename(plan.script), where(raised.place, plan)
    if raised.type.startswith("SIG"):
        return f"{name} was killed by {raised.type} ({at}) {when}"
    if raised.status is not None:
        return f"{name} ended with status {raised.status} ({at}) {when}"
    return f"{name} raised {_short(exception(raised))} ({at}) {when}"


def waits(trace: Observed, plan: Plan, before: str) -> str:
    """Return that ranks wait in vain, each with where, and who has ended meanwhile."""
    found: dict[str, list[int]] = {}
    for event in trace.of(Blocked):
        if event.inside is not None and event.rank is not None:
            found.setdefault(f"in {event.inside.op} ({where(event.place, plan)})", []).append(event.rank)
    waiting = {rank for ranks in found.values() for rank in ranks}
    parts = [f"{_ranks(ranks, 'waits', 'wait')} {at}" for at, ranks in found.items()]
    gone = [event.rank for event in trace.of(Ended) if event.rank is not None and event.rank not in waiting]
    if gone:
        parts.append(_ranks(sorted(set(gone)), "has ended", "have ended"))
    return f"the run stands still before {os.path.basename(plan.script)} {before}: {', '.join(parts)}"


def _ranks(ranks: Sequence[int], one: str, several: str) -> str:
    """Return ranks with their verb: ``rank 1 waits``, ``ranks 0 and 2 wait``."""
    if len(ranks) == 1:
        return f"rank {ranks[0]} {one}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]} {several}"


def left(ended: Ended | None, plan: Plan, before: str) -> str:
    """Return that the script ended before it came to what was to be observed."""
    name = os.path.basename(plan.script)
    if ended is None or ended.how == "natural":
        return f"{name} ends and never {before}"
    status = "" if ended.status is None else f" with status {ended.status}"
    said = f", saying {_short(ended.said)!r}," if ended.said else ""
    return f"{name} ends{status} ({where(ended.place, plan)}){said} and never {before}"


def exception(raised: Raised) -> str:
    """Return an exception in a line: its short name and its message."""
    name = raised.type.rpartition(".")[2]
    message = " ".join(raised.message.split())
    return f"{name}: {message}" if message else name


def _example(name: str) -> str:
    """Return how an argument that argparse names would be passed: ``-d/--data`` as ``--data DATA``."""
    flag = max(name.split("/"), key=len)
    word = flag.lstrip("-").replace("-", "_").upper()
    return f"{flag} {word}" if flag.startswith("-") else word


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"


def _user_may_write(path: str) -> bool:
    """Whether the user could change a file, or make it, without any containment."""
    return os.access(path if os.path.exists(path) else os.path.dirname(path), os.W_OK)

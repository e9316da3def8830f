"""Runs one plan from the first question to the observation, and asks beforehand whether it can be run at all."""

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from ddpdoctor.events import Event, Raised
from ddpdoctor.harness import gpus, memory, outcome, reasons, torch_version
from ddpdoctor.harness.endings import Endings
from ddpdoctor.harness.guardian import Guardian
from ddpdoctor.harness.ordering import order
from ddpdoctor.harness.plan import Observation, Plan
from ddpdoctor.harness.run_folder import output_path
from ddpdoctor.harness.supervise import Supervisor
from ddpdoctor.harness.translation import Translation
from ddpdoctor.harness.watch import Watch
from ddpdoctor.layer import LayerState
from ddpdoctor.trace import Observed

START_SECONDS = 20.0
"""The guardian contains a run in a tenth of a second; copying a project may take five seconds."""

OUTPUT_BYTES = 1 << 16
"""How much of a process's output is looked at, from its end."""


class Refused(Exception):
    """A run cannot be made here; the text says why in a line."""


def available(plan: Plan) -> str | None:
    """Return in a line why a plan cannot be run here; ``None`` when it can.

    Nothing of the user's is run to find out, and torch is not imported.
    """
    try:
        _check(plan)
        with Guardian(order(plan, only_asking=True)) as guardian:
            _contained(guardian)
    except (Refused, RuntimeError, OSError) as error:
        return str(error)
    except Exception:  # a fault of ours forbids no run: it meets the fault again, and its layers say so
        return None
    return None


def observe(plan: Plan, progress: Callable[[str], None]) -> Observation:
    """Run a plan and return what was observed.

    ``progress`` is called about twice a second with what the run is doing. Whatever the script does, no exception
    comes of it: the layers say what became of them. When this is interrupted (KeyboardInterrupt) the run is ended and
    its folder removed before the exception goes on.
    """
    started = time.monotonic()
    try:
        _check(plan)
        return _run(plan, progress, started)
    except Refused as error:
        state = LayerState(state="not-run", reason=str(error))
    except Exception as error:  # whatever goes wrong here, the source's findings are not lost
        state = LayerState(state="failed", reason=_own_fault(error))
    return Observation(trace=None, layers=dict.fromkeys(sorted(plan.layers), state), seconds=time.monotonic() - started)


def _own_fault(error: Exception) -> str:
    """Say what went wrong on our side, in a line: what the machine says of itself needs no type."""
    said = " ".join(str(error).split())
    named = said if said and isinstance(error, (OSError, RuntimeError)) else f"{type(error).__name__}: {said}"
    return f"a fault of ddpdoctor's own: {named}"


def _run(plan: Plan, progress: Callable[[str], None], started: float) -> Observation:
    backend = gpus.backend(plan.backend, plan.ranks, gpus.visible(os.environ), torch_version.installed())
    plan = plan.with_(backend=backend)
    kills = memory.oom_kills()
    ordered = order(plan)
    with Guardian(ordered) as guardian:
        progress("starting")
        contained = _contained(guardian)
        began, by_copy = contained["began"], contained["contained"] == "copy"
        translation = Translation(contained["places"])
        watch = Watch(ordered.folder, guardian.pid, began, translation, namespaced=not by_copy)
        ending = Supervisor(plan, guardian, watch, began, native=backend == "native").run(progress)
        outputs = [translation.text(_output(ordered.folder, number)) for number in range(len(ordered.ranks))]
    killed = memory.oom_kills() > kills
    completing = Endings(watch, ending, outputs, plan, ordered.root, killed_for_memory=killed)
    observed = watch.events()
    run = outcome.Run(
        plan=plan,
        trace=_trace([*observed, *completing.events()], plan, by_copy=by_copy),
        ending=ending,
        how=contained["how"],
        out_of_memory=completing.out_of_memory,
        by_copy=by_copy,
        linked=[reasons.shown(path, plan.directory) for path in contained["linked"]],
        last_words=next(filter(None, map(_last_line, outputs)), ""),
        silent=not observed,
        size=ordered.size,
        doing=[trail.status.doing for _, trail in watch.ranks() if trail.status],
    )
    return Observation(
        trace=run.trace if observed else None,
        layers=outcome.layers(run),
        seconds=time.monotonic() - started,
    )


def _check(plan: Plan) -> None:
    """Raise Refused when it can be told without a try that the plan cannot be run here."""
    why = torch_version.missing()
    if why is not None:
        raise Refused(why)
    try:
        free, need = memory.available(), memory.needed(plan.style, plan.ranks)
    except RuntimeError as error:
        raise Refused(str(error)) from None
    room = free if plan.memory is None else min(free, plan.memory)
    if need > room:
        raise Refused(
            f"{plan.ranks} ranks need about {memory.words(need)} before they have a model, and {memory.words(room)} of "
            f"memory are available: fewer --ranks need less"
        )


def _contained(guardian: Guardian) -> dict[str, Any]:
    """Return the report of how the run is contained.

    Raises Refused when the kernel allows no way to protect the user's files.
    """
    report = guardian.contained(START_SECONDS)
    if "refused" in report:
        raise Refused(f"the user's files cannot be protected here, so nothing is run ({'; '.join(report['refused'])})")
    return report


def _trace(events: Iterable[Event], plan: Plan, *, by_copy: bool) -> Observed:
    """Return the trace of a run, in the order of time."""
    marked = [
        event.with_(ours=True)  # what only the containment forbids is not the user's fault
        if isinstance(event, Raised) and reasons.contained(event, plan.directory, by_copy=by_copy)
        else event
        for event in events
    ]
    marked.sort(key=lambda event: event.time)
    ranks = {event.rank for event in marked if event.rank is not None}
    if plan.style == "torchrun":
        ranks |= set(range(plan.ranks))
    return Observed(
        marked, ranks=tuple(sorted(ranks)), redirected=plan.backend == "redirect", layers=frozenset(plan.layers)
    )


def _output(folder: str, number: int) -> str:
    """Return the end of what one process of the run, and those that it started, printed."""
    try:
        with open(output_path(folder, number), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - OUTPUT_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")

"""The pipeline, in order: read, find, run, judge, report.

path -> reader -> predicted trace ---+
                                     +-> checks -> findings -> verdicts -> report
path -> harness -> observed trace ---+
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ddpdoctor import __version__, reader, registry
from ddpdoctor.asking import as_finding, guarded
from ddpdoctor.checkup import Checked, Configuration, OwnFault, Report, Request, Target, Voice
from ddpdoctor.events import Unparsed
from ddpdoctor.facts import replicas, starts_its_ranks
from ddpdoctor.finding import Finding
from ddpdoctor.garbage import collect, garbage_left_lying
from ddpdoctor.layer import CHECKED, MODEL, PROBE, SOURCE, LayerState
from ddpdoctor.merging import merged
from ddpdoctor.paths import Paths
from ddpdoctor.record import Record
from ddpdoctor.trace import Predicted

if TYPE_CHECKING:
    from ddpdoctor.harness import Observation


Task: TypeAlias = tuple[str, Configuration]
"""A file, and what it is checked under."""


class Outcome(Record):
    """What came of one file; ``whole`` is false when a budget ended the reading, so that findings may be missing."""

    layers: Mapping[str, LayerState]
    whole: bool = True
    findings: tuple[Finding, ...] = ()
    faults: tuple[OwnFault, ...] = ()

    def checked(self) -> frozenset[str]:
        """Return the layers that were checked in full."""
        done = (name for name, state in self.layers.items() if state.state == "checked")
        return frozenset(name for name in done if name != SOURCE or self.whole)


def check(request: Request, voice: Voice) -> Report:
    """Check every file that a request names.

    Raises RegistryError when the checks are not there.
    """
    registry.rows()
    reader.forget()
    outcomes = dict(_outcomes(request, voice))
    faults = (fault for outcome in outcomes.values() for fault in outcome.faults)
    return Report(
        version=__version__,
        projects=_reported(request, outcomes),
        faults=tuple({fault.text: fault for fault in faults}.values()),
    )


def _outcomes(request: Request, voice: Voice) -> Iterator[tuple[str, Outcome]]:
    """Yield what came of each file, in order."""
    tasks = [(path, project.configuration) for project in request.projects for path in project.paths]
    with garbage_left_lying():
        if request.jobs > 1 and len(tasks) > 1:
            from ddpdoctor.workers import spread  # it takes longer to import than a script to read

            done = spread(tasks, partial(_check_elsewhere, request), partial(_lost, request), request.jobs)
        else:
            done = ((task, _check_file(*task, request, voice)) for task in tasks)
        for number, ((path, _), outcome) in enumerate(done, 1):
            if number < len(tasks):
                collect()
            if len(tasks) > 1:
                voice.progress(f"{number} of {len(tasks)} files read")
            yield path, outcome


def _check_elsewhere(request: Request, task: Task) -> Outcome:
    """Check one file in another process than the one that reports."""
    collect()
    return _check_file(*task, request, Voice())


def _lost(request: Request, task: Task, how: str) -> Outcome:
    """Return what came of a file whose process died: more than an exception, it takes a bug in Python itself."""
    return _broken(task[0], request, RuntimeError(f"the process that read it was ended {how}"))


def _check_file(path: str, configuration: Configuration, request: Request, voice: Voice) -> Outcome:
    if configuration.unusable is not None:
        return _unread(configuration.unusable)
    try:
        programs = reader.read(path, request.directory, request.standard_input, last=request.is_for_one_file)
    except OSError as error:
        return _unread(f"it cannot be read: {(error.strerror or str(error)).lower()}")
    except Exception as error:  # one file must not take the others along
        return _broken(path, request, error)
    faults: list[OwnFault] = []
    predicted = [finding for program in programs for finding in _predicted(program, configuration, faults)]
    observation, layers = _run(path, programs, configuration, request, voice)
    observed = (
        None if observation is None or observation.trace is None else observation.trace.changed(predicted=programs)
    )
    if observation is None:
        findings = [_plain(finding) for finding in predicted]
    else:
        from ddpdoctor.verdicts import judged

        findings = judged(predicted, observed, layers, configuration, faults)
    whole = all(program.complete for program in programs)
    return Outcome(
        layers={SOURCE: _source(programs, request), **layers},
        whole=whole,
        findings=tuple(findings),
        faults=tuple(faults),
    )


def _broken(path: str, request: Request, error: Exception) -> Outcome:
    fault = OwnFault.of(error, _shown(path, request.directory))
    return _unread(f"a fault of ddpdoctor's own: {fault.text}", fault)


def _unread(reason: str, *faults: OwnFault) -> Outcome:
    nothing_run = LayerState(state="not-run", reason="the file could not be read")
    failed = LayerState(state="failed", reason=reason)
    return Outcome(layers={SOURCE: failed, MODEL: nothing_run, PROBE: nothing_run}, faults=faults)


def _plain(finding: Finding) -> Finding:
    """Return a finding without what only a run is asked about: an event holds on to much of its trace."""
    return finding.with_(fault=finding.fault.with_(about=None, event=None))


def _source(programs: tuple[Predicted, ...], request: Request) -> LayerState:
    """Return what became of the source layer: too large a file is not read, nor is such a module that it imports."""
    for program in programs:
        if not program.complete and not program.entered and any(event.unread for event in program.of(Unparsed)):
            return LayerState(state="not-run", reason=program.of(Unparsed)[0].message)
    unread = dict.fromkeys(event for program in programs for event in program.of(Unparsed) if event.unread)
    modules = {_shown(event.place.file, request.directory): event.message for event in unread}
    details = tuple(f"{module}: {message}: what it does is not known" for module, message in modules.items())
    ended = tuple(dict.fromkeys(f"read in part: {program.ended}: {ENDED}" for program in programs if program.ended))
    return LayerState(state="checked", details=(*details, *ended)) if details or ended else CHECKED


ENDED = "what it does after that was not checked"


# --- the source layer ----------------------------------------------------------------------------------------------


def _predicted(program: Predicted, configuration: Configuration, faults: list[OwnFault]) -> Iterator[Finding]:
    """Yield what the checks find in a predicted trace, each fault once.

    Of functions that nothing calls, each has to show a fault by itself: who calls which, and when, is not known.
    """
    seen: set[object] = set()
    for check_ in registry.triggered(program.kinds, SOURCE, configuration.asks):
        if check_.predict is None:
            continue
        found = tuple(guarded(check_, check_.predict, program, faults))
        if found and program.roots:
            alone = {fault.place for root in program.alone() for fault in guarded(check_, check_.predict, root, faults)}
            found = tuple(fault for fault in found if fault.place in alone)
        for fault in found:
            key = (check_.name, fault.place, fault.subject, fault.about and fault.about.key)
            if key not in seen:
                seen.add(key)
                yield as_finding(check_, fault, SOURCE)


# --- the run -------------------------------------------------------------------------------------------------------


def _run(
    path: str, programs: tuple[Predicted, ...], configuration: Configuration, request: Request, voice: Voice
) -> "tuple[Observation | None, dict[str, LayerState]]":
    """Run the script for the layers that are asked for, or that the default allows; say what became of each."""
    wanted = frozenset({MODEL, PROBE} if request.probe else {MODEL})
    insisted = request.run or request.probe
    layers = {PROBE: LayerState(state="not-run", reason="--probe was not given")}
    reason = _held_back(programs, request, insisted=insisted)
    if reason is not None:
        return None, {MODEL: LayerState(state="not-run", reason=reason), **layers}
    from ddpdoctor import harness  # only here: a check-up that reads only needs none of it

    plan = harness.Plan(
        script=path,
        arguments=request.arguments,
        directory=request.directory,
        style="spawn" if any(starts_its_ranks(program) for program in programs) else "torchrun",
        layers=wanted,
        ranks=configuration.ranks,
        steps=configuration.steps,
        timeout=configuration.timeout,
    )
    unavailable = harness.available(plan)
    if unavailable is not None:
        return None, {**layers, **{layer: LayerState(state="not-run", reason=unavailable) for layer in wanted}}
    if not insisted:
        shown = _shown(path, request.directory)
        voice.notice(f"running {shown} contained, to its first optimiser step (--source-only only reads)")
    observation = harness.observe(plan, voice.progress)
    return observation, {**layers, **observation.layers}


def _held_back(programs: tuple[Predicted, ...], request: Request, *, insisted: bool) -> str | None:
    """Return why the script is not to be run at all, or ``None``."""
    if request.source_only:
        return "--source-only was given"
    if insisted:
        return None
    if request.withheld is not None:
        return request.withheld
    if not any(replicas(program) for program in programs):
        return "the source wraps no model for data-parallel training"
    return None


# --- the report ----------------------------------------------------------------------------------------------------


def _reported(request: Request, outcomes: Mapping[str, Outcome]) -> tuple[Checked, ...]:
    """Return what is to be reported of each project: the findings that nothing ignores."""
    from ddpdoctor.ignores import Found, sift
    from ddpdoctor.lines import Lines

    parts = [
        Found(
            project=project,
            findings=merged(finding for path in project.paths for finding in outcomes[path].findings),
            layers={path: outcomes[path].checked() for path in project.paths},
        )
        for project in request.projects
    ]
    return tuple(
        Checked(
            project=part.project,
            targets=tuple(
                Target(path=_shown(path, request.directory), layers=outcomes[path].layers)
                for path in part.project.paths
            ),
            findings=kept,
            whole=part.layers,
        )
        for part, kept in zip(parts, sift(parts, Lines(request.contents())), strict=True)
    )


def _shown(path: str, directory: str) -> str:
    """Return a path as reports show it: relative to the working directory, with ``/``."""
    return Paths(directory).shown(path)

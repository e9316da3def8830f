"""The pipeline, in order: read, find, run, judge, report.

path -> reader -> predicted trace ---+
                                     +-> checks -> findings -> verdicts -> report
path -> harness -> observed trace ---+
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ddpdoctor import __version__, reader, registry
from ddpdoctor.check import Check
from ddpdoctor.checkup import OwnFault, Report, Request, Target, Voice
from ddpdoctor.events import Event
from ddpdoctor.facts import replicas, starts_its_ranks
from ddpdoctor.finding import Fault, Finding, State, not_reached
from ddpdoctor.garbage import garbage_left_lying
from ddpdoctor.layer import CHECKED, MODEL, PROBE, SOURCE, LayerState
from ddpdoctor.paths import Paths
from ddpdoctor.record import Record
from ddpdoctor.trace import Observed, Predicted

if TYPE_CHECKING:
    from ddpdoctor.harness import Observation


class Outcome(Record):
    """What came of one file; ``whole`` is false when a budget ended the reading, so that findings may be missing."""

    layers: Mapping[str, LayerState]
    whole: bool = True
    findings: tuple[Finding, ...] = ()
    faults: tuple[OwnFault, ...] = ()


def check(request: Request, voice: Voice) -> Report:
    """Check every file that a request names.

    Raises RegistryError when the checks are not there.
    """
    registry.rows()
    targets: list[Target] = []
    found: list[Finding] = []
    faults: list[OwnFault] = []
    checked: dict[str, frozenset[str]] = {}
    with garbage_left_lying() as collect:
        for path in request.paths:
            collect()
            outcome = _check_file(path, request, voice)
            targets.append(Target(path=_shown(path, request.directory), layers=outcome.layers))
            found += outcome.findings
            faults += outcome.faults
            done = (name for name, state in outcome.layers.items() if state.state == "checked")
            checked[path] = frozenset(name for name in done if name != SOURCE or outcome.whole)
    return Report(
        version=__version__,
        targets=tuple(targets),
        findings=_sifted(found, checked, request),
        faults=tuple({fault.text: fault for fault in faults}.values()),
    )


def _check_file(path: str, request: Request, voice: Voice) -> Outcome:
    nothing_run = LayerState(state="not-run", reason="the file could not be read")
    try:
        programs = reader.read(path, request.directory, request.standard_input)
    except OSError as error:
        unread = LayerState(state="failed", reason=f"it cannot be read: {(error.strerror or str(error)).lower()}")
        return Outcome(layers={SOURCE: unread, MODEL: nothing_run, PROBE: nothing_run})
    except Exception as error:  # one file must not take the others along
        fault = OwnFault(part=_shown(path, request.directory), error=error)
        unread = LayerState(state="failed", reason=f"a fault of ddpdoctor's own: {fault.text}")
        return Outcome(layers={SOURCE: unread, MODEL: nothing_run, PROBE: nothing_run}, faults=(fault,))
    faults: list[OwnFault] = []
    predicted = [finding for program in programs for finding in _predicted(program, request, faults)]
    observation, layers = _run(path, programs, request, voice)
    observed = (
        None if observation is None or observation.trace is None else observation.trace.changed(predicted=programs)
    )
    findings = _judged(predicted, observation, observed, layers, request, faults)
    whole = all(program.complete for program in programs)
    return Outcome(layers={SOURCE: CHECKED, **layers}, whole=whole, findings=tuple(findings), faults=tuple(faults))


# --- the source layer ----------------------------------------------------------------------------------------------


def _predicted(program: Predicted, request: Request, faults: list[OwnFault]) -> Iterator[Finding]:
    """Yield what the checks find in a predicted trace, each fault once."""
    seen: set[object] = set()
    for check_ in registry.triggered(program.kinds, SOURCE, request.configuration.asks):
        if check_.predict is None:
            continue
        for fault in _guarded(check_, check_.predict, program, faults):
            key = (check_.name, fault.place, fault.subject, fault.about and fault.about.key)
            if key not in seen:
                seen.add(key)
                yield _finding(check_, fault, SOURCE)


def _finding(check_: Check, fault: Fault, layer: str) -> Finding:
    severity = fault.severity or check_.severity
    return Finding(
        check=check_.name,
        severity=severity,
        layer=layer,
        fault=fault,
        verdict=fault.verdict,
        preview=check_.preview,
    )


def _guarded(
    check_: Check, detector: Callable[..., Iterator[Fault]], trace: Predicted | Observed, faults: list[OwnFault]
) -> Iterator[Fault]:
    """Yield what a detector finds; when it breaks, that is a fault of ours, and the rest goes on."""
    try:
        yield from detector(trace)
    except Exception as error:  # a check that breaks must not take the others along
        faults.append(OwnFault(part=f"the check {check_.name}", error=error))


# --- the run -------------------------------------------------------------------------------------------------------


def _run(
    path: str, programs: tuple[Predicted, ...], request: Request, voice: Voice
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
        ranks=request.configuration.ranks,
        steps=request.configuration.steps,
        timeout=request.configuration.timeout,
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


# --- verdicts ------------------------------------------------------------------------------------------------------


def _judged(
    predicted: list[Finding],
    observation: "Observation | None",
    observed: Observed | None,
    layers: Mapping[str, LayerState],
    request: Request,
    faults: list[OwnFault],
) -> list[Finding]:
    """Return the findings with the run's verdicts, and those that only the run shows."""
    if observation is None:
        return predicted
    if observed is None:
        return [finding.with_(verdict=not_reached(_not_run_reason(layers))) for finding in predicted]
    judged = [_with_verdict(finding, observed, layers, faults) for finding in predicted]
    explained = [event for finding in judged for event in _explained_by(finding)]
    for consequence in (False, True):
        trace = observed.without(explained)
        for check_ in _observing(trace, request, consequence=consequence):
            if check_.observe is None:
                continue
            for fault in _guarded(check_, check_.observe, trace, faults):
                if not _known_already(check_, fault, judged):
                    judged.append(_finding(check_, fault, MODEL if MODEL in check_.layers else PROBE))
                    explained += _explained_by(judged[-1])
    return judged


def _observing(trace: Observed, request: Request, *, consequence: bool) -> list[Check]:
    asks = request.configuration.asks
    found = {
        check_.name: check_ for layer in sorted(trace.layers) for check_ in registry.triggered(trace.kinds, layer, asks)
    }
    return [check_ for check_ in found.values() if check_.consequence is consequence]


def _with_verdict(
    finding: Finding, observed: Observed, layers: Mapping[str, LayerState], faults: list[OwnFault]
) -> Finding:
    check_ = registry.load(finding.check)
    serving = [layer for layer in check_.layers if layer in observed.layers]
    if check_.judge is None:
        return finding.with_(verdict=not_reached("this is decided from the source: the run was not asked about it"))
    if not serving:
        return finding.with_(verdict=not_reached(_missing_layer(check_, layers)))
    try:
        return finding.with_(verdict=check_.judge(finding.fault, observed))
    except Exception as error:  # a check that breaks must not take the others along
        faults.append(OwnFault(part=f"the check {check_.name}", error=error))
        return finding.with_(verdict=not_reached("the check failed while it judged the run"))


def _missing_layer(check_: Check, layers: Mapping[str, LayerState]) -> str:
    needed = PROBE if PROBE in check_.layers else MODEL
    reason = layers[needed].reason
    return f"the {needed} layer was not run" if reason is None else f"the {needed} layer was not run: {reason}"


def _not_run_reason(layers: Mapping[str, LayerState]) -> str:
    reasons = [state.reason for state in layers.values() if state.state != "checked" and state.reason is not None]
    return (
        reasons[-1]
        if len(reasons) == 1
        else next((reason for reason in reasons if "not given" not in reason), "not run")
    )


def _explained_by(finding: Finding) -> tuple[Event, ...]:
    verdict = finding.verdict
    return verdict.explains if verdict is not None and verdict.state is State.CONFIRMED else ()


def _known_already(check_: Check, fault: Fault, findings: Iterable[Finding]) -> bool:
    """Whether a fault that the run shows was found before: at the same place, or on the same object."""
    for finding in findings:
        if finding.check != check_.name or finding.refuted:
            continue
        no_less = finding.severity.weight >= (fault.severity or check_.severity).weight
        same_subject = finding.fault.subject in (None, fault.subject)
        if finding.fault.place.covers(fault.place) and same_subject and no_less:
            return True
    return False


# --- the report ----------------------------------------------------------------------------------------------------


def _sifted(found: list[Finding], checked: Mapping[str, frozenset[str]], request: Request) -> tuple[Finding, ...]:
    from ddpdoctor.ignores import sift
    from ddpdoctor.lines import Lines

    merged = tuple(_merged(found))
    lines = Lines(request.contents())
    return sift(merged, checked, request.configuration, lines, whole_project=request.whole_project)


def _merged(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield one finding for those of a check that say the same of the same place: the most harmful, the confirmed."""
    best: dict[object, Finding] = {}
    for finding in found:
        place = finding.fault.place
        key = (finding.check, place.spot(), place.column, finding.fault.subject, finding.refuted)
        if key not in best or _weight(finding) > _weight(best[key]):
            best[key] = finding
    yield from best.values()


def _weight(finding: Finding) -> tuple[int, bool]:
    return finding.severity.weight, finding.verdict is not None and finding.verdict.state is State.CONFIRMED


def _shown(path: str, directory: str) -> str:
    """Return a path as reports show it: relative to the working directory, with ``/``."""
    return Paths(directory).shown(path)

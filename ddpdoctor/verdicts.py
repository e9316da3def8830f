"""What a run says of the findings of the source, and what only the run shows."""

from collections.abc import Iterable, Mapping

from ddpdoctor import registry
from ddpdoctor.asking import as_finding, broken, guarded
from ddpdoctor.check import Check
from ddpdoctor.checkup import Configuration, OwnFault
from ddpdoctor.events import Blocked, Event
from ddpdoctor.finding import Fault, Finding, State, Verdict, not_decided, not_reached
from ddpdoctor.layer import MODEL, PROBE, LayerState
from ddpdoctor.trace import Observed


def judged(
    predicted: list[Finding],
    observed: Observed | None,
    layers: Mapping[str, LayerState],
    configuration: Configuration,
    faults: list[OwnFault],
) -> list[Finding]:
    """Return the findings with the verdicts of a run, and those that it alone shows.

    Without an observed trace (the run failed) no finding was reached.
    """
    if observed is None:
        reason = _not_run_reason(layers)
        return [finding.with_(verdict=_without_judge(finding) or not_reached(reason)) for finding in predicted]
    known = [_with_verdict(finding, observed, layers, faults) for finding in predicted]
    explained = [event for finding in known for event in _explained_by(finding)]
    for consequence in (False, True):
        trace = observed.without(explained)
        for check_ in _observing(trace, configuration, consequence=consequence):
            if check_.observe is None or not (trace.ranks or consequence):
                continue  # where no rank came to be, only failures and hangs have anything to show
            for fault in guarded(check_, check_.observe, trace, faults):
                cause = _cause_of(fault, known) if consequence else None
                if cause is not None:
                    known[cause] = _with_consequence(known[cause], as_finding(check_, fault, PROBE))
                    explained += _explained_by(known[cause])
                elif not _known_already(check_, fault, known):
                    known.append(as_finding(check_, fault, MODEL if MODEL in check_.layers else PROBE))
                    explained += _explained_by(known[-1])
    return known


def _observing(trace: Observed, configuration: Configuration, *, consequence: bool) -> list[Check]:
    found = {
        check_.name: check_
        for layer in sorted(trace.layers)
        for check_ in registry.triggered(trace.kinds, layer, configuration.asks)
    }
    return [check_ for check_ in found.values() if check_.consequence is consequence]


def _with_verdict(
    finding: Finding, observed: Observed, layers: Mapping[str, LayerState], faults: list[OwnFault]
) -> Finding:
    check_ = registry.load(finding.check)
    serving = [layer for layer in check_.layers if layer in observed.layers]
    if check_.judge is None:
        return finding.with_(verdict=_without_judge(finding))
    if not serving:
        return finding.with_(verdict=not_reached(_missing_layer(check_, layers)))
    try:
        return finding.with_(verdict=check_.judge(finding.fault, observed))
    except Exception as error:  # a check that breaks must not take the others along
        faults.append(broken(check_, error))
        return finding.with_(verdict=not_reached("the check failed while it judged the run"))


def _without_judge(finding: Finding) -> Verdict | None:
    """Return the verdict on a finding whose check reads the source only, or ``None`` where a run can judge it."""
    if registry.load(finding.check).judge is not None:
        return None
    return not_decided("the source alone shows this: nothing in a run is watched for it")


def _cause_of(fault: Fault, known: list[Finding]) -> int | None:
    """Return which finding of the source predicts the wait that a run came to at its place, where no judge said so."""
    if fault.verdict is None or not any(isinstance(event, Blocked) for event in fault.verdict.explains):
        return None
    for number, finding in enumerate(known):
        undecided = finding.verdict is not None and finding.verdict.state is State.NOT_DECIDED
        if undecided and registry.load(finding.check).waits and finding.fault.place.covers(fault.place):
            return number
    return None


def _with_consequence(finding: Finding, hang: Finding) -> Finding:
    """Return a finding of the source, confirmed by the hang that came of it: as harmful and as certain as that is."""
    assert hang.verdict is not None
    return finding.with_(
        verdict=hang.verdict.with_(reason=f"the run hung here: {hang.verdict.reason}"),
        severity=max(finding.severity, hang.severity, key=lambda severity: severity.weight),
        fault=finding.fault.with_(confidence=hang.fault.confidence),
    )


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

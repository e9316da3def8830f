"""What a report means for a gate: which findings are shown, and the exit status."""

from ddpdoctor.checkup import Report, Request
from ddpdoctor.finding import Confidence, Finding, Severity
from ddpdoctor.layer import MODEL, PROBE, SOURCE
from ddpdoctor.status import Status

LEAST_CONFIDENCE = Confidence.MEDIUM
"""Findings of which the check is less certain are not shown."""


def certain_enough(report: Report) -> Report:
    """Return the report without the findings that are not certain enough to be shown."""
    kept = tuple(finding for finding in report.findings if finding.fault.confidence.weight >= LEAST_CONFIDENCE.weight)
    return report.with_(findings=kept)


def counts(finding: Finding, fail_on: Severity | None) -> bool:
    """Whether a finding fails the gate."""
    harmful = fail_on is not None and finding.severity.weight >= fail_on.weight
    return harmful and not finding.refuted and not finding.preview


def status(report: Report, request: Request) -> Status:
    """Return the exit status of a check-up."""
    if any(counts(finding, request.configuration.fail_on) for finding in report.findings):
        return Status.FINDINGS
    if report.faults or _any_failed(report) or not all_asked_for_was_checked(report, request):
        return Status.NOT_RUN
    return Status.CLEAN


def _any_failed(report: Report) -> bool:
    """Whether a layer failed by a fault of our own, be it one that only the default tries."""
    return any(state.state == "failed" for target in report.targets for state in target.layers.values())


def all_asked_for_was_checked(report: Report, request: Request) -> bool:
    """Whether every layer that was asked for was checked; one that only the default tries may be left out."""
    asked = {SOURCE}
    if request.run or request.probe:
        asked.add(MODEL)
    if request.probe:
        asked.add(PROBE)
    return all(target.layers[layer].state == "checked" for target in report.targets for layer in asked)

"""What a report means for a gate: which findings are shown, and the exit status."""

from ddpdoctor.checkup import Checked, Configuration, Report, Request
from ddpdoctor.finding import Finding, Severity
from ddpdoctor.layer import MODEL, PROBE, SOURCE
from ddpdoctor.status import Status


def shown(report: Report) -> Report:
    """Return the report without the findings that are not certain or not harmful enough to be shown."""
    return report.with_(projects=tuple(map(_kept, report.projects)))


def _kept(checked: Checked) -> Checked:
    configuration = checked.project.configuration
    return checked.with_(findings=tuple(finding for finding in checked.findings if is_shown(finding, configuration)))


def is_shown(finding: Finding, configuration: Configuration) -> bool:
    """Whether a finding is certain and harmful enough to be shown."""
    certain = finding.fault.confidence.weight >= configuration.confidence.weight
    return certain and finding.severity.weight >= configuration.severity.weight


def counts(finding: Finding, fail_on: Severity | None) -> bool:
    """Whether a finding fails the gate."""
    return finding.counted and fail_on is not None and finding.severity.weight >= fail_on.weight


def status(report: Report, request: Request) -> Status:
    """Return the exit status of a check-up."""
    for checked in report.projects:
        fail_on = checked.project.configuration.fail_on
        if any(counts(finding, fail_on) for finding in checked.findings):
            return Status.FINDINGS
    if any(checked.project.configuration.unusable is not None for checked in report.projects):
        return Status.USAGE
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

"""Makes one finding of those of a check that say the same of the same place."""

from collections.abc import Hashable, Iterable

from ddpdoctor.finding import Finding, State


def merged(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return one finding for those of a check that say the same of the same place: the most harmful, the confirmed."""
    best: dict[object, Finding] = {}
    for finding in found:
        key = identity(finding)
        if key not in best or _weight(finding) > _weight(best[key]):
            best[key] = finding
    return tuple(best.values())


def identity(finding: Finding) -> Hashable:
    """Return what two findings have in common that say the same of the same place."""
    place = finding.fault.place
    return finding.check, place.spot(), place.column, finding.fault.subject, finding.refuted


def _weight(finding: Finding) -> tuple[int, bool]:
    return finding.severity.weight, finding.verdict is not None and finding.verdict.state is State.CONFIRMED

"""Asks checks; one that breaks is a fault of ours and takes nothing along."""

from collections.abc import Callable, Iterator

from ddpdoctor.check import Check
from ddpdoctor.checkup import OwnFault
from ddpdoctor.finding import Fault, Finding
from ddpdoctor.trace import Observed, Predicted


def guarded(
    check: Check, detector: Callable[..., Iterator[Fault]], trace: Predicted | Observed, faults: list[OwnFault]
) -> Iterator[Fault]:
    """Yield what a detector finds; when it breaks, that is added to the faults, and the rest goes on."""
    try:
        yield from detector(trace)
    except Exception as error:  # a check that breaks must not take the others along
        faults.append(broken(check, error))


def broken(check: Check, error: Exception) -> OwnFault:
    """Return the fault of ours that a check is which raised an error."""
    return OwnFault.of(error, f"the check {check.name}")


def as_finding(check: Check, fault: Fault, layer: str) -> Finding:
    """Return the finding that the report shows of a fault."""
    return Finding(
        check=check.name,
        severity=fault.severity or check.severity,
        layer=layer,
        fault=fault,
        verdict=fault.verdict,
        preview=check.preview,
    )

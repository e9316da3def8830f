"""Runs the user's script in contained children and observes it.

Importing this imports neither torch nor the machinery of a run: both come when a run is asked for.
"""

from collections.abc import Callable

from ddpdoctor.harness.plan import Observation, Plan
from ddpdoctor.harness.platforms import unsupported
from ddpdoctor.layer import LayerState

__all__ = ["Observation", "Plan", "available", "observe"]


def available(plan: Plan) -> str | None:
    """Return in a line why a plan cannot be run here; ``None`` when it can.

    See :mod:`ddpdoctor.harness.observation`.
    """
    reason = unsupported()
    if reason is not None:
        return reason
    from ddpdoctor.harness import observation

    return observation.available(plan)


def observe(plan: Plan, progress: Callable[[str], None]) -> Observation:
    """Run a plan and return what was observed; never raises for what the script does.

    See :mod:`ddpdoctor.harness.observation`.
    """
    reason = unsupported()
    if reason is not None:
        state = LayerState(state="not-run", reason=reason)
        return Observation(trace=None, layers=dict.fromkeys(sorted(plan.layers), state))
    from ddpdoctor.harness import observation

    return observation.observe(plan, progress)

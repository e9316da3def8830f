"""What breaks on our side, or is made to break, costs nothing but the run."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness_run import Harness

pytest_plugins = ("harness_run",)


@pytest.mark.parametrize("error", [ValueError("a report\n of the guardian's"), AttributeError("'list'"), OSError("no")])
def test_whatever_breaks_in_the_harness_the_layers_say_so(
    harness: "Harness", monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from ddpdoctor.harness import observation

    def breaks(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(observation, "order", breaks)
    plan = harness.plan("child.wrap()")
    assert observation.available(plan) == (None if not isinstance(error, OSError) else "no")
    seen = harness.observe(plan)
    words = {"ValueError": "ValueError: a report of the guardian's", "AttributeError": "AttributeError: 'list'"}
    reason = f"a fault of ddpdoctor's own: {words.get(type(error).__name__, 'no')}"
    assert {(state.state, state.reason) for state in seen.layers.values()} == {("failed", reason)}
    assert seen.trace is None


def test_what_a_script_writes_among_the_events_breaks_nothing(harness: "Harness") -> None:
    script = """\
        import os
        path = os.path.join(child.folder, "events", "77.jsonl")
        lines = ['{"map": []}', '{"is": "Ended", "map": 3}', '{"is": "GroupInit", "place": 5}', "[" * 9999, "3", "{"]
        open(path, "w").write("\\n".join(lines) + "\\n")
        child.wrap()
        """
    seen = harness.run(script)
    assert {state.state for state in seen.layers.values()} == {"checked"}


def test_a_fault_of_the_harness_is_never_the_users(harness: "Harness") -> None:
    seen = harness.run(
        """
        child.say("GroupInit")
        child.say("Raised", type="builtins.KeyError", message="'seen'", ours=True)
        child.say("Ended", how="exception", status=1)
        import os
        os._exit(1)
        """,
    )
    state = seen.layers["probe"]
    assert (state.state, state.reason) == (
        "failed",
        "a fault of ddpdoctor's own while it watched the script: KeyError: 'seen'",
    )

"""Where the ranks can go different ways: tests on the rank, on a rank's own data, clocks, files and signals."""

from collections.abc import Iterator

from ddpdoctor.condition import Atom, Condition, as_formula, literals
from ddpdoctor.events import Backward, Collective, Event, Forward, LoaderBuilt, Loop
from ddpdoctor.facts import loaders
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import divides_ranks
from ddpdoctor.value import Ref


def own_tests(trace: Predicted, condition: Condition) -> Iterator[Atom]:
    """Yield the tests in a condition that each rank answers by what only it has.

    That a batch is ``None`` says that a loader has come to its end: the ranks' parts have one length.
    """
    built = loaders(trace)
    for literal in literals([as_formula(condition)]):
        atom = literal.atom
        dealt = (loader for loader in atom.measured if isinstance(loader, Ref) and _is_dealt_out(built.get(loader)))
        if atom.local or (any(dealt) and not atom.text.endswith(" is None")):
            yield atom


def _is_dealt_out(loader: LoaderBuilt | None) -> bool:
    """Whether each rank draws its own part of the data from a loader."""
    return loader is not None and loader.sharded_by not in (None, "unknown")


def divided_by_rank(condition: Condition) -> Atom | None:
    """Return the test on the rank by which only some ranks meet a condition, ``None`` where there is none."""
    if divides_ranks(condition) is None:
        return None
    tests = [literal.atom for literal in literals([as_formula(condition)]) if literal.atom.kind == "rank"]
    return tests[0] if tests else None


def meets_in(trace: Predicted, loop: Loop, process: str) -> Event | None:
    """Return what makes the ranks wait for each other in every round of a loop: a collective, or DDP's backward."""
    reduced = [one for one in trace.of(Forward) if one.via == "wrapper" and one.grad and one.synced is not False]
    through_ddp = {one.order for one in reduced}
    for backward in trace.of(Backward):
        if backward.process == process and loop in backward.loops and through_ddp & set(backward.forwards):
            return backward
    for collective in trace.of(Collective):
        of_all = collective.origin == "user" and collective.group is None
        if of_all and collective.process == process and loop in collective.loops:
            return collective
    return None

"""Where the ranks can go different ways: tests on the rank, on a rank's own data, clocks, files and signals."""

import re
from collections.abc import Iterator

from ddpdoctor.atom import Atom, Condition
from ddpdoctor.condition import as_formula, literals
from ddpdoctor.events import Backward, Collective, Event, Forward, LoaderBuilt, Loop
from ddpdoctor.facts import in_group, loaders, replicas
from ddpdoctor.facts.ranks import can_hold_among_ranks
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import answered_apart, divides_ranks
from ddpdoctor.value import Ref


def own_tests(trace: Predicted, condition: Condition) -> Iterator[Atom]:
    """Yield the tests in a condition that each rank answers by what only it has: its data, its clock, what it is sent.

    How a batch is made up (its keys, its types, how many samples it has) is alike on all ranks, as is its end. What is
    asked only where no group is initialised decides nothing among ranks.
    """
    built = loaders(trace)
    wrappers = {wrap.wrapper for wrap in replicas(trace)}
    for literal in literals([as_formula(condition)], within=can_hold_among_ranks):
        atom = literal.atom
        dealt = (ref in wrappers or _is_dealt_out(built.get(ref)) for ref in atom.measured if isinstance(ref, Ref))
        if (atom.local and not _is_a_clock_not_read(atom)) or (any(dealt) and not _is_of_its_making(atom.text)):
            yield atom


def _is_a_clock_not_read(atom: Atom) -> bool:
    """Whether a test is on a time being ``None``: no rank's clock decides that, only whether it was looked at."""
    return atom.local == {"clock"} and atom.text.endswith(" is None")


def is_a_missing_batch(atom: Atom) -> bool:
    """Whether a test is on a loader's batch being ``None``: its ``collate_fn`` found nothing of use in the samples."""
    return re.fullmatch(MISSING, atom.text) is not None and bool(atom.measured)


def _is_of_its_making(text: str) -> bool:
    """Whether a test is on how a tensor or a batch is made, and not on what it holds; whether it is empty is that."""
    if re.search(MEMBER, text) or text.endswith(" is None") or text.startswith(ASKS):
        return not re.search(EMPTY, text)
    return any(re.search(MADE, side) for side in re.split(COMPARED, text)) and not re.search(EMPTY, text)


MISSING = r"item of torch\.utils\.data\.DataLoader@[^ ]* is None"
COMPARED = r" (?:==|<=|<|is) "
MEMBER = r" in (?!line \d)"
ASKS = ("builtins.isinstance", "builtins.hasattr", "builtins.callable", "torch.is_tensor", "builtins.type")
EMPTY = r"(?:== 0|< 1)$|^0 (?:==|<) "
MADE = (
    r"(?:\.(?:size|numel|dim|is_floating_point)\(\)|\.(?:ndim|dtype|device|requires_grad|is_cuda|is_leaf|grad_fn)|"
    r"\.shape(?:\[[^]]*\])?|^len\([^/]*\))$"
)


def _is_dealt_out(loader: LoaderBuilt | None) -> bool:
    """Whether each rank draws its own part of the data from a loader."""
    return loader is not None and loader.sharded_by not in (None, "unknown")


def kept_by_the_others(trace: Predicted, event: Event, condition: Condition) -> Atom | None:
    """Return the test that ranks answer by what they had before, while the first answers by what only it has written.

    So it is in ``if rank == 0: stop = …`` with ``if stop: break`` after it, where nothing sends ``stop`` to the others.
    """
    found: Atom | None = None
    for init in in_group(trace, event):
        apart = answered_apart(condition, init.when)
        if apart is None:
            return None
        _, kept, written = apart
        own = [atom for atom in kept if atom.kind not in CHOSEN]
        alone = [atom for atom in written - kept if atom.kind not in CHOSEN]
        if not alone or not all(map(_is_of_before, own)) or any(re.search(SENT, atom.text) for atom in alone):
            return None
        found = min(own or alone, key=lambda atom: atom.text)
    return found


SENT = r"of all ranks|what came instead"
"""What the reader calls values that a collective has written."""
CHOSEN = frozenset({"configuration", "world"})
"""The kinds of tests that every rank answers alike."""


def _is_of_before(atom: Atom) -> bool:
    """Whether a test is on a variable alone, and on nothing that a call has given."""
    return atom.kind == "other" and not re.search(r"[(@]", atom.text.replace(".item()", ""))


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

"""One seed for all ranks, from which each then draws its random augmentation."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import as_formula, compatible
from ddpdoctor.events import EpochBegun, LoaderBuilt, Seeded
from ddpdoctor.facts import default_of, is_rank_process, loaders, owned, replicas, training_backwards
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.truth import holds_by_default
from ddpdoctor.value import Symbol

SEEDS_TORCH = frozenset({"torch.manual_seed", "torch.random.manual_seed", "accelerate.utils.set_seed"})
"""What seeds the generator that torchvision's transforms draw from, and that gives workers their seeds."""


def ranks_draw_the_same_augmentation(trace: Predicted) -> Iterator[Fault]:
    """Find the last seed before training, the same on every rank, where the training data is augmented at random."""
    if owned(trace, "sampler"):
        return
    built, seen = loaders(trace), set[Place]()
    for loader in training_backwards(trace):
        event = built.get(loader)
        if event is None or event.augmented_by is None or not _is_dealt_out(trace, event):
            continue
        begun = next((one for one in trace.of(EpochBegun) if one.loader == loader), None)
        seed = _last_seed(trace, begun) if begun is not None else None
        if seed is None or "rank" in seed.value.taint or seed.place in seen:
            continue
        seen.add(seed.place)
        shown = default_of(seed.value)
        yield Fault(
            place=seed.place,
            message="every rank draws the same random augmentation: their generators all begin with this seed"
            + (f" ({shown})" if isinstance(shown, int) else ""),
            places=(Label(place=event.augmented_by.place, text="drawn here, on every rank alike"),),
            about=loader,
            event=seed,
            fix=Fix(
                description="seed again with seed + rank once the model is made; a DistributedSampler keeps the seed"
            ),
        )


def _is_dealt_out(trace: Predicted, event: LoaderBuilt) -> bool:
    wraps = (wrap for wrap in replicas(trace) if wrap.process == event.process and compatible(wrap.when, event.when))
    return bool(event.distributed_samplers) and any(wraps) and is_rank_process(trace, event)


def _last_seed(trace: Predicted, begun: EpochBegun) -> Seeded | None:
    """Return what seeds torch's generator last before an epoch, when the user gives no options."""
    seeds = [
        seed
        for seed in trace.before(begun, Seeded)
        if seed.by in SEEDS_TORCH
        and seed.process == begun.process  # a spawned process begins with a random seed of its own
        and holds_by_default(as_formula(seed.when)) is not False
        and not (isinstance(seed.value, Symbol) and seed.value.origin == "configuration" and _is_unset(seed.value))
    ]
    return seeds[-1] if seeds else None


def _is_unset(option: Symbol) -> bool:
    return option.default is None or default_of(option) is None


CHECK = Check(
    name="same-seed-augmentation",
    summary="one seed on every rank: all draw the same random augmentation",
    severity=Severity.NOTE,
    layers=("source",),
    triggers=(Seeded,),
    predict=ranks_draw_the_same_augmentation,
)

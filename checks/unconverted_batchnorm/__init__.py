"""BatchNorm layers that reach data-parallel training as they are: each rank normalises by its own batch."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import (
    Backward,
    Collective,
    EpochBegun,
    Forward,
    LoaderBuilt,
    ModelHandedOver,
    ModelWrapped,
    Norm,
    SyncBatchNormConverted,
)
from ddpdoctor.facts import default_of, training_backwards
from ddpdoctor.finding import Confidence, Fault, Fix, Label, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.named import NamedTuple
from ddpdoctor.trace import Observed, Predicted
from ddpdoctor.value import Constant, Ref, alternatives

FEW_SAMPLES = 16
"""Below so many samples a rank and step the statistics are too noisy to be left unsynchronised: a warning."""


class Batch(NamedTuple):
    """How many samples a rank trains on in a step, and whether that is only so by default."""

    size: int
    by_default: bool = False


def norms_reach_the_wrap(trace: Predicted) -> Iterator[Fault]:
    """Find wrapped models with BatchNorm layers that train and that nothing can convert."""
    smallest = _smallest_batch(trace)
    for event in trace.of(ModelWrapped):
        trained = [norm for norm in event.norms if norm.trained]
        if (
            trained
            and not _converted_anyhow(trace, event)
            and not _only_evaluated(trace, event)
            and not _shuffles(trace)
        ):
            yield _fault(event, trained, smallest)
    for given in trace.of(ModelHandedOver):
        trained = [norm for norm in given.norms if norm.trained]
        if not trained or not (given.hidden or _is_trained(trace, given)):
            continue
        if not given.by_hand:
            yield _advice(given, trained)
        elif not _is_wrapped(trace, given):
            yield _by_hand(given, trained)


def _is_trained(trace: Predicted, event: ModelHandedOver) -> bool:
    """Whether a backward comes from this model, and not in evaluation mode."""
    orders = {order for backward in trace.of(Backward) for order in backward.forwards}
    forwards = [one for one in trace.of(Forward) if one.order in orders and one.training is not False]
    return any(value == event.model for one in forwards for _, value in alternatives(one.model))


def _advice(event: ModelHandedOver, trained: list[Norm]) -> Fault:
    """Return the fault of a model that a framework wraps: a note, as it decides on how many ranks.

    Whether Accelerate replicates the model or shards it is configured outside the script.
    """
    owner = event.framework.rpartition(".")[2]
    option = "sync_bn=True" if event.framework.startswith("ignite.") else "sync_batchnorm=True"
    call = option if event.hidden else "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before it"
    return Fault(
        place=event.made,
        message=f"{owner} leaves BatchNorm as it is: each rank normalises by its own batch",
        confidence=Confidence.MEDIUM if event.framework.startswith("accelerate.") else Confidence.HIGH,
        places=_shown(trained),
        event=event,
        fix=Fix(description=f"{call}, if batches are small"),
    )


def _is_wrapped(trace: Predicted, event: ModelHandedOver) -> bool:
    """Whether the model is wrapped as well, which is spoken of by itself, or converted."""
    models = {value for _, value in alternatives(event.model)}
    changed = [one.model for one in trace.of(ModelWrapped)] + [one.model for one in trace.of(SyncBatchNormConverted)]
    return any(value in models for model in changed for _, value in alternatives(model))


def _by_hand(event: ModelHandedOver, trained: list[Norm]) -> Fault:
    owner = f"{event.framework}()" if event.framework else "this"
    return Fault(
        place=event.made,
        message=f"{owner} keeps the parameters of the ranks alike, and BatchNorm is not converted: each rank "
        "normalises by its own batch",
        confidence=Confidence.MEDIUM,
        places=(Label(place=event.place, text="the collective"), *_shown(trained)),
        event=event,
        fix=Fix(description="torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before it, if batches are small"),
    )


def _converted_anyhow(trace: Predicted, event: ModelWrapped) -> bool:
    """Whether something converts the model after all, too late as that may be.

    Of several models that it can be, those that were converted before the wrap are not among the layers that it has.
    """
    models = {value for _, value in alternatives(event.model)}
    converted: set[object] = set()
    for one in trace.of(SyncBatchNormConverted):
        values = {value for _, value in alternatives(one.model)}
        if event.wrapper in values or (one.order > event.order and values & models):
            return True
        converted |= values
    return models <= converted


def _only_evaluated(trace: Predicted, event: ModelWrapped) -> bool:
    """Whether the model or its BatchNorm layers train in evaluation mode, so that the statistics are fixed."""
    trained = {order for backward in trace.of(Backward) for order in backward.forwards}
    fixed = [
        forward.training is False or forward.fixed_norms
        for forward in trace.of(Forward)
        if forward.order in trained and any(value == event.wrapper for _, value in alternatives(forward.model))
    ]
    return bool(fixed) and all(fixed)


def _shuffles(trace: Predicted) -> bool:
    """Whether the model's own forward deals its batches out anew between the ranks (ShuffleBN)."""
    ops = {event.op for event in trace.of(Collective) if event.is_within("forward")}
    return "broadcast" in ops and bool(ops & {"all_gather", "all_gather_into_tensor"})


def _fault(event: ModelWrapped, trained: list[Norm], batch: Batch | None) -> Fault:
    few = batch is not None and batch.size < FEW_SAMPLES
    usual = " by default" if batch is not None and batch.by_default else ""
    size = f" ({batch.size} samples a rank and step{usual})" if batch is not None else ""
    return Fault(
        place=event.place,
        message=f"BatchNorm is not converted: each rank normalises by its own batch{size}",
        severity=Severity.WARNING if few else None,
        places=(*_shown(trained), *_made(event)),
        about=event.wrapper,
        event=event,
        fix=Fix(
            description="torch.nn.SyncBatchNorm.convert_sync_batchnorm(model) before the wrap, if batches are small"
        ),
    )


def _made(event: ModelWrapped) -> tuple[Label, ...]:
    """Return where the model is made, if that is known and not where it is wrapped."""
    made = (value.place for _, value in alternatives(event.model) if isinstance(value, Ref))
    return tuple(Label(place=place, text="the model") for place in made if place != event.place)[:1]


def _shown(trained: list[Norm]) -> tuple[Label, ...]:
    return tuple(Label(place=norm.place, text=_kind(norm)) for norm in trained[:3] if norm.place is not None)


def _kind(norm: Norm) -> str:
    name = norm.type.rpartition(".")[2]
    return name if "BatchNorm" in name else f"{name}, which has BatchNorm layers"


def _smallest_batch(trace: Predicted) -> Batch | None:
    """Return the smallest batch size of the training loaders, where all of them are known; an option is its default."""
    trained = training_backwards(trace)
    sizes = [event.batch_size for event in trace.of(LoaderBuilt) if event.loader in trained]
    known = [Batch(size, not isinstance(given, Constant)) for given in sizes if type(size := default_of(given)) is int]
    return min(known) if known and len(known) == len(sizes) else None


def norms_were_wrapped(fault: Fault, run: Observed) -> Verdict:
    """Look at the layers of the model that was wrapped here."""
    wrapped = seen_at(run.of(ModelWrapped), fault.place, fault.about.stack if fault.about else None)
    if not wrapped and isinstance(fault.event, ModelHandedOver):
        wrapped = seen_at(run.of(ModelWrapped), fault.event.place)
    if not wrapped:
        return not_reached("no rank wrapped a model here")
    norms = [norm for norm in wrapped[0].norms if norm.trained]
    if not norms:
        return refuted("the model that was wrapped here has no BatchNorm layer that trains")
    values = {norm.name: norm.values for norm in norms if norm.values is not None}
    first = norms[0].name or norms[0].type
    return confirmed(
        f"the BatchNorm layer {first} was wrapped"
        if len(norms) == 1
        else f"{len(norms)} BatchNorm layers were wrapped, the first is {first}",
        layers=[norm.name for norm in norms],
        **({"values_per_channel": values} if values else {}),
    )


def _is_seen_to(program: Predicted) -> bool:
    """Whether the source has a conversion or a SyncBatchNorm, be it an option's, or its own way of mixing batches."""
    synced = any(event.synced is not None for event in program.of(ModelWrapped))
    return synced or bool(program.of(SyncBatchNormConverted)) or _shuffles(program)


def _batch_of_the_first_step(run: Observed) -> Batch | None:
    """Return the batch size, as the script has it, of the loader that the first backward's batch is from."""
    rank = run.ranks[0]
    first = next(iter(run.on(rank, Backward)), None)
    drawn = [begun.loader for begun in run.on(rank, EpochBegun) if first is not None and begun.order < first.order]
    built = [event for event in run.on(rank, LoaderBuilt) if drawn and event.loader == drawn[-1]]
    size = built[-1].batch_size if built else None
    return Batch(size.value) if isinstance(size, Constant) and isinstance(size.value, int) else None


def norms_in_the_model(run: Observed) -> Iterator[Fault]:
    """Find, in the models that a run wrapped, the BatchNorm layers that the source did not show."""
    if run.of(SyncBatchNormConverted) or any(_is_seen_to(program) for program in run.predicted):
        return  # some are converted, if too late: that is another fault
    for event in run.of(ModelWrapped):
        norms = [norm for norm in event.norms if norm.trained]
        if norms and event.rank == run.ranks[0]:
            fault = _fault(event, norms, _batch_of_the_first_step(run))
            yield fault.with_(verdict=norms_were_wrapped(fault, run))


CHECK = Check(
    name="unconverted-batchnorm",
    summary="BatchNorm layers are trained data-parallel without being converted to SyncBatchNorm",
    severity=Severity.NOTE,
    layers=("source", "model", "probe"),
    triggers=(ModelWrapped, ModelHandedOver),
    predict=norms_reach_the_wrap,
    judge=norms_were_wrapped,
    observe=norms_in_the_model,
)

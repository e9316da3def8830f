"""Gradients that autograd copies into the parameter's layout in every step, without any warning."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import GradientsSeen, ModelWrapped, ParameterSeen
from ddpdoctor.finding import Fault, Fix, Severity, confirmed
from ddpdoctor.trace import Observed

COSTLY_SHARE = 0.25
"""From this share of all gradient bytes on it is a warning: such a copy makes the backward of a layer that computes
little up to 2.35 times as long (measured, 3000x3000 parameters)."""
COSTLY_BYTES = 1_000_000
"""With less than this a step the copy is a few microseconds, whatever its share."""
SHOWN = 6


def autograd_copies_gradients(run: Observed) -> Iterator[Fault]:
    """Report, for each wrapped model, the gradients that were cloned in a backward, with their bytes."""
    rank = run.ranks[0]
    for wrap in run.of(ModelWrapped):
        steps = [event for event in run.on(rank, GradientsSeen) if event.wrapper == wrap.wrapper]
        if wrap.rank != rank or not steps:
            continue
        rows = steps[-1].parameters
        copied = [row for row in rows if row.copied]
        total = sum(row.bytes for row in rows)
        if copied and total:
            yield _fault(wrap, copied, sum(row.bytes for row in copied), total)


def _fault(wrap: ModelWrapped, copied: list[ParameterSeen], size: int, total: int) -> Fault:
    share = size / total
    names = copied[0].name if len(copied) == 1 else f"{len(copied)} parameters"
    return Fault(
        place=wrap.place,
        message=f"autograd silently copies the gradients of {names} every step: {_bytes(size)}, {share:.0%} of all",
        severity=Severity.WARNING if share >= COSTLY_SHARE and size >= COSTLY_BYTES else None,
        subject=copied[0].name,
        about=wrap.wrapper,
        event=wrap,
        fix=_fix(copied),
        verdict=confirmed(
            f"{len(copied)} gradients arrived in another layout than their parameters and were cloned",
            parameters=len(copied),
            bytes_a_step=size,
            of_bytes=total,
            copies={
                row.name: {"bytes": row.bytes, "gradient": row.raw, "parameter": row.strides} for row in copied[:SHOWN]
            },
            proxy="measured on the CPU",
        ),
    )


def _bytes(size: int) -> str:
    for unit, scale in (("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"


def _fix(copied: list[ParameterSeen]) -> Fix:
    """Name the change that removes the copies: the parameters' layout has to be that of the gradients."""
    convolutions = [row for row in copied if len(row.shape) in (4, 5)]
    if len(convolutions) == len(copied) and _is_channels_last(convolutions[0]):
        return Fix(
            description="model.to(memory_format=torch.channels_last) before the wrap: the inputs are channels_last"
        )
    if len(convolutions) == len(copied):
        return Fix(description="give the model its inputs' memory format before the wrap, or the inputs the model's")
    return Fix(
        description="create the parameter in its gradient's layout (a transposed weight: w.t().contiguous().t())"
    )


def _is_channels_last(row: ParameterSeen) -> bool:
    return row.raw is not None and len(row.shape) == 4 and row.raw[1] == 1 and row.shape[1] > 1


CHECK = Check(
    name="silent-gradient-copy",
    summary="autograd clones gradients into another layout every step, and PyTorch says nothing",
    severity=Severity.NOTE,
    layers=("model", "probe"),
    triggers=(GradientsSeen,),
    observe=autograd_copies_gradients,
)

"""Parameters that are not row-major: dense ones are harmless, others DDP copies or rejects."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import GradientsSeen, ModelWrapped, ParameterSeen, Raised
from ddpdoctor.finding import Fault, Fix, Severity, confirmed
from ddpdoctor.layout import row_major, same_memory_order
from ddpdoctor.trace import Observed

SHOWN = 6
SHARED = "more than one element of the written-to tensor"
"""What PyTorch says of an expanded parameter, whose elements share memory (aten/src/ATen/MemoryOverlap)."""
ONTO_ITSELF = "unsupported operation: some elements of the input tensor and the written-to tensor"
"""What it says when DDP broadcasts a single parameter: flattened it is itself, unless its strides are row-major in the
dimensions of size 1 too, and then the result is copied onto it (torch/csrc/distributed/c10d/reducer.cpp and
torch/csrc/utils/tensor_flatten.h; measured in 2.14 with gloo)."""


def parameters_are_not_row_major(run: Observed) -> Iterator[Fault]:
    """Report, for each wrapped model, the dense and the gapped ones apart."""
    rank = run.ranks[0]
    for wrap in run.of(ModelWrapped):
        steps = [event for event in run.on(rank, GradientsSeen) if event.wrapper == wrap.wrapper]
        if wrap.rank != rank or not steps:
            continue
        rows = [row for row in steps[0].parameters if _matters(row) and not _is_memory_format(row)]
        for dense in (True, False):
            some = [row for row in rows if row.dense is dense]
            if some:
                yield _fault(wrap, some, dense=dense)


def _fault(wrap: ModelWrapped, rows: list[ParameterSeen], *, dense: bool) -> Fault:
    count = f"{rows[0].name} is" if len(rows) == 1 else f"{len(rows)} parameters are"
    if dense:
        message = f"{count} not row-major, and harmless: dense memory, so the gradient buckets take the same strides"
        fix = Fix(description="none is needed; making them contiguous would add copies", safe=True)
    else:
        message = f"{count} not row-major and has gaps: the bucket is row-major, so each step copies the gradient"
        fix = Fix(
            description="create it without gaps: nn.Parameter(tensor.clone(memory_format=torch.contiguous_format))"
        )
    return Fault(
        place=wrap.place,
        message=message,
        subject=rows[0].name,
        about=wrap.wrapper,
        event=wrap,
        fix=fix,
        verdict=confirmed(
            f"seen at the wrap on rank 0: {len(rows)} of the model's parameters",
            parameters={row.name: {"sizes": row.shape, "strides": row.strides} for row in rows[:SHOWN]},
            count=len(rows),
            dense=dense,
        ),
    )


def _is_memory_format(row: ParameterSeen) -> bool:
    """Whether a convolution's weight lies as channels_last or channels_last_3d does: asked for, and no surprise."""
    if len(row.shape) not in (4, 5):
        return False
    channels_last = (row.shape[0], *row.shape[2:], row.shape[1])
    order = (0, len(row.shape) - 1, *range(1, len(row.shape) - 1))
    strides = row_major(channels_last)
    return same_memory_order(row.shape, row.strides, [strides[i] for i in order])


def _matters(row: ParameterSeen) -> bool:
    """Whether a stride differs in a dimension of more than one element: the others say nothing."""
    return 0 not in row.shape and not same_memory_order(row.shape, row.strides, row_major(row.shape))


def constructor_rejected(run: Observed) -> Iterator[Fault]:
    """Report a parameter that DDP's constructor cannot take."""
    for words, message, remedy in (
        (
            SHARED,
            "DDP rejects a parameter whose elements share memory (an expanded tensor)",
            "nn.Parameter(tensor.clone())",
        ),
        (
            ONTO_ITSELF,
            "DDP rejects the model's only parameter: its strides are not row-major in a dimension of size 1, "
            "so that the broadcast copies it onto itself",
            "nn.Parameter(tensor.clone(memory_format=torch.contiguous_format)); contiguous() changes nothing",
        ),
    ):
        raised = [event for event in run.of(Raised) if words in event.message]
        echoes = [event for event in run.of(Raised) if event.caused_by_peer]
        for event in raised[:1]:
            yield Fault(
                place=event.place,
                message=message,
                severity=Severity.ERROR,
                event=event,
                fix=Fix(description=f"give the parameter memory of its own: {remedy}"),
                verdict=confirmed(
                    f"rank {event.rank} raised {event.type} in DDP's constructor",
                    *raised,
                    *echoes,
                    exception=event.message,
                ),
            )


def observed(run: Observed) -> Iterator[Fault]:
    """Report both kinds."""
    yield from parameters_are_not_row_major(run)
    yield from constructor_rejected(run)


CHECK = Check(
    name="non-contiguous-parameter",
    summary="a parameter is not row-major: harmless when dense, else copied or rejected by DDP",
    severity=Severity.NOTE,
    layers=("model",),
    triggers=(GradientsSeen, Raised),
    observe=observed,
)

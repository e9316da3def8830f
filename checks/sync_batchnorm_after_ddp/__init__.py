"""``convert_sync_batchnorm`` on a model that is wrapped already, or with its return value dropped where it matters."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.events import SyncBatchNormConverted
from ddpdoctor.finding import Fault, Fix, Severity, Verdict, confirmed, not_reached, refuted
from ddpdoctor.join import seen_at
from ddpdoctor.trace import Observed, Predicted

WRAPPED = "the model is wrapped already: DDP has checked and bucketed the layers that this replaces"
DROPPED = "the model itself is a BatchNorm: the converted one is only returned, and nothing keeps it"


def converted_too_late(trace: Predicted) -> Iterator[Fault]:
    """Find conversions of wrapped models, and those whose result is lost."""
    for event in trace.of(SyncBatchNormConverted):
        if _is_faulty(event):
            yield Fault(
                place=event.place,
                message=WRAPPED if event.wrapped else DROPPED,
                event=event,
                fix=Fix(
                    description="convert, keep what it returns, then wrap: model = DDP(convert_sync_batchnorm(model))"
                ),
            )


def _is_faulty(event: SyncBatchNormConverted) -> bool:
    return event.wrapped or (event.root and not event.kept)


def run_converted_too_late(fault: Fault, run: Observed) -> Verdict:
    """See what the model was when the run converted it."""
    converted = seen_at(run.of(SyncBatchNormConverted), fault.place)
    if not converted:
        return not_reached("no rank came to this line")
    faulty = [event for event in converted if _is_faulty(event)]
    if not faulty:
        return refuted("the model was not wrapped yet")
    what = "a DistributedDataParallel" if faulty[0].wrapped else "a BatchNorm layer"
    return confirmed(f"what was converted here was {what}", wrapped=faulty[0].wrapped, root=faulty[0].root)


CHECK = Check(
    name="sync-batchnorm-after-ddp",
    summary="BatchNorm is converted after the model was wrapped",
    severity=Severity.WARNING,
    layers=("source", "model"),
    triggers=(SyncBatchNormConverted,),
    predict=converted_too_late,
    judge=run_converted_too_late,
)

"""An attribute of a data set that changes from epoch to epoch, while persistent workers keep their first copies."""

from collections.abc import Iterator

from ddpdoctor.check import Check
from ddpdoctor.condition import compatible
from ddpdoctor.events import DatasetChanged, EpochBegun, LoaderBuilt
from ddpdoctor.facts import default_of, loaders
from ddpdoctor.finding import Fault, Fix, Label, Severity
from ddpdoctor.place import Place
from ddpdoctor.trace import Predicted
from ddpdoctor.value import Value, alternatives, truth


def workers_keep_the_first_value(trace: Predicted) -> Iterator[Fault]:
    """Find writes to a data set in a loop around its loader, which is built before the loop with workers that stay."""
    built, seen = loaders(trace), set[Place]()
    for event in trace.of(DatasetChanged):
        loader = built.get(event.loader)
        if loader is None or event.place in seen or not _keeps_workers(loader, event):
            continue
        around = {loop.place for loop in event.loops} - {loop.place for loop in loader.loops}
        begun = (one for one in trace.of(EpochBegun) if one.loader == event.loader)
        if not any(around & {loop.place for loop in one.loops} for one in begun):
            continue
        seen.add(event.place)
        yield Fault(
            place=event.place,
            message=f"the workers never see this: they hold copies of the data set, with the first .{event.attribute}",
            places=(Label(place=loader.place, text="persistent_workers=True keeps them"),),
            about=event.loader,
            event=event,
            fix=Fix(
                description=f"keep {event.attribute} in a torch tensor after share_memory_(), or let the workers end"
            ),
        )


def _keeps_workers(loader: LoaderBuilt, event: DatasetChanged) -> bool:
    """Whether a loader has workers, and keeps them, when its data set is changed; an option counts as its default."""
    return _can_be(loader.persistent_workers, loader, event) and default_of(loader.workers) != 0


def _can_be(value: Value | None, loader: LoaderBuilt, event: DatasetChanged) -> bool:
    if value is None:
        return False
    return any(
        compatible(when, event.when) and truth(option) is not False and default_of(option) is not False
        for when, option in alternatives(value, loader.when)
    )


CHECK = Check(
    name="stale-worker-epoch",
    summary="an attribute of the data set is set every epoch, and persistent workers never see it",
    severity=Severity.WARNING,
    layers=("source",),
    triggers=(DatasetChanged,),
    predict=workers_keep_the_first_value,
)

"""Printing, logging and tracking: where numbers come out that a rank computed from its own batches."""

from collections.abc import Iterable, Iterator

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.condition import together
from ddpdoctor.events import Reported
from ddpdoctor.reader.abstract import Abstract, Attribute, Choice, Items, Opaque, Table, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.builtin import spelt_out
from ddpdoctor.reader.library.hooks import is_lightning_module
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.tags import NO_TAGS, Tags, measures, of_numbers, pooled_in
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Ref

BY_PATH = {
    "builtins.print": "print",
    "rich.print": "print",
    "click.echo": "print",
    "tqdm.tqdm.write": "print",
    "tqdm.auto.tqdm.write": "print",
    "sys.stdout.write": "print",
}
BY_NAME = {
    "print": "print",
    **dict.fromkeys(["info", "warning", "debug", "critical", "error", "log"], "log"),
    **dict.fromkeys(["add_scalar", "add_scalars", "log_metric", "log_metrics", "log_dict", "log_scalar"], "log"),
}
"""Methods of loggers and trackers, and functions of the modules that are one (``logging``, ``wandb``, ``mlflow``)."""
ARITHMETIC = ("torch.", "numpy.", "math.", "cmath.", "scipy.")
"""Modules whose ``log`` is the logarithm."""
PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"
MAX_DEPTH = 4


def of_function(walk: Walk, call: Call) -> None:
    """Record what a function outside the project reports."""
    how = BY_PATH.get(call.path)
    if how is None and not call.path.startswith(ARITHMETIC):
        how = BY_NAME.get(call.path.rpartition(".")[2])
    if how is not None:
        _report(walk, call, how)


def of_method(walk: Walk, call: Call, name: str) -> None:
    """Record what a method of something outside the project reports."""
    if call.receiver is not None and is_lightning_module(call.receiver):
        _log_of_module(walk, call, name)
        return
    how = BY_NAME.get(name)
    if name == "step" and any(_is_plateau(option) for _, option in options(call.receiver or Items(()))):
        how = "schedule"
    if how is not None and call.receiver is not None and not measures(call.receiver.tags):
        _report(walk, call, how)


def _log_of_module(walk: Walk, call: Call, name: str) -> None:
    """``self.log(name, value)``: Lightning averages over the ranks only with ``sync_dist=True``.

    Objects of torchmetrics are put together anyway, and what is logged by the step alone is progress.
    """
    value = call.argument("value", 1) if name == "log" else call.argument("dictionary", 0)
    synced = call.kwargs.get("sync_dist")
    if value is None or name not in ("log", "log_dict") or call.open or known(call.kwargs.get("on_epoch")) is False:
        return
    if synced is None or known(synced) is False:
        _report(walk, call._replace(args=(value,), kwargs={}), "epoch")


def _is_plateau(value: Abstract) -> bool:
    return isinstance(value, Made) and value.path == PLATEAU


def _report(walk: Walk, call: Call, how: str) -> None:
    found: dict[Condition, tuple[set[Ref], set[Ref]]] = {}
    for given in call.given():
        value = spelt_out(walk, given, call.node) if isinstance(given, Object) else given
        for when, tags in numbers_of_batches(value):
            own, added = found.setdefault(when, (set(), set()))
            own |= own_part(tags)
            added |= counted_together(tags)
    before = walk.path
    for when, (own, added) in found.items():
        here = walk.assuming_also(when)
        if here is not None:
            walk.path = here
            walk.emit(
                Reported,
                call.node,
                how=how,
                by=call.path,
                loaders=in_order(own),
                added=in_order(added),
                names_rank="rank" in call.flow(),
            )
    walk.path = before


def counted_together(tags: Tags) -> set[Ref]:
    """Return the loaders of which the numbers of all ranks were added up, with the samples that ranks have twice."""
    padded = pooled_in(tags, "padded") - pooled_in(tags, "cut")
    return set(pooled_in(tags, "sum") | padded)  # type: ignore[arg-type]


def in_order(refs: Iterable[Ref]) -> tuple[Ref, ...]:
    """Return references in the order of their places."""
    return tuple(sorted(refs, key=lambda ref: ref.place))


def own_part(tags: Tags) -> set[Ref]:
    """Return the loaders from whose batches a rank computed something by itself."""
    return {tag[1] for tag in measures(tags)}  # type: ignore[index]


def numbers_of_batches(value: Abstract, when: Condition = ALWAYS, depth: int = 0) -> Iterator[tuple[Condition, Tags]]:
    """Yield what flowed from batches into the numbers in a value, each under the condition that it is what is there.

    What is put together on one path is no oversight on another: there, there is nothing to put together.
    """
    if depth > MAX_DEPTH or (isinstance(value, Attribute) and value.name == "shape"):  # how many there are
        return
    parts: tuple[Abstract, ...] = ()
    if isinstance(value, Choice):
        pooled = pooled_in(NO_TAGS.union(*(option.tags for _, option in value.options)))
        for condition, option in value.options:
            both = together(when, condition)
            for there, tags in numbers_of_batches(option, both, depth + 1) if both is not None else ():
                yield there, frozenset(tag for tag in tags if tag[0] != "measure" or tag[1] not in pooled)  # type: ignore[index]
        return
    if isinstance(value, Opaque):
        parts = value.parts
    elif isinstance(value, Items):
        parts = tuple(value.items[:MAX_ITEMS])
    elif isinstance(value, Table):
        parts = tuple(cell[-1][1] for cell in list(value.cells.values())[:MAX_ITEMS])
    if parts:
        for part in parts:
            yield from numbers_of_batches(part, when, depth + 1)
        return
    tags = of_numbers(value.tags)
    if tags:
        yield when, tags


MAX_ITEMS = 16
"""How many items of a container are looked at."""

"""What flowed into a value, as tags: taints, where data came from, and what was put together from all ranks."""

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from ddpdoctor.memory import remembered

if TYPE_CHECKING:
    from ddpdoctor.reader.abstract import Abstract

Tags: TypeAlias = frozenset[Hashable]
"""What flowed into a value: taints (the strings of :data:`ddpdoctor.value.Taint`), and where data came from, as pairs:
``("loader", Ref)``, ``("batch", Ref)``, ``("forward", order)``, ``("index", Loop)``; ``("measure", Ref)`` for
what a rank computed from its own batches, ``("pooled", Ref, how)`` for what was then put together from that of all,
``("placed", Ref)`` for a tensor that has a place for each sample, ``("computed", name)`` for what a call gave that is
not followed."""


NO_TAGS: Tags = frozenset()
LOCAL = frozenset({"clock", "file", "signal"})
"""What comes to each rank in its own time, as tags."""


@remembered(20_000)
def measures(tags: Tags) -> Tags:
    """Return the marks of what a rank has computed from its own batches, and that nothing has put together.

    They go further than ``batch``: through ``item()`` too, into what is printed or compared. What is computed from
    both, such as a sum over all ranks times a batch's size, counts as put together.
    """
    if not tags:
        return NO_TAGS
    own = [tag for tag in tags if isinstance(tag, tuple) and tag[0] == "measure"]
    if not own:
        return NO_TAGS
    pooled = pooled_in(tags)
    return frozenset(tag for tag in own if tag[1] not in pooled)


def in_turn_of(values: "Iterable[Abstract]") -> Tags:
    """Return the tags of each of several values in turn: where some are a rank's own numbers, the others hide none."""
    tags = [value.tags for value in values]
    return NO_TAGS.union(*([one for one in tags if measures(one)] or tags))


def of_numbers(tags: Tags) -> Tags:
    """Return the marks of what ranks have computed from batches, whether it was put together or not."""
    return frozenset(tag for tag in tags if isinstance(tag, tuple) and tag[0] in ("measure", "pooled"))


@remembered(20_000)
def pooled_in(tags: Tags, how: str | None = None) -> Tags:
    """Return the loaders from whose batches something was computed and then put together from all ranks."""
    marks = [tag for tag in tags if isinstance(tag, tuple) and tag[0] == "pooled"]
    return frozenset(tag[1] for tag in marks if how is None or tag[2] == how)


def put_together(tags: Tags, how: str = "unknown") -> Tags:
    """Return the tags of what was put together from all ranks, or may have been.

    ``how`` is ``sum``, ``gather``, or ``padded`` for what was gathered with samples that the ranks have twice. A sum of
    tensors that each have a place for every sample is what another would gather.
    """
    own = [tag for tag in tags if isinstance(tag, tuple) and tag[0] == "measure"]
    if not own:
        return tags
    pooled = {("pooled", tag[1], "gather" if ("placed", tag[1]) in tags else how) for tag in own}
    return (tags - frozenset(own)) | pooled


def placed(holder: Tags, key: Tags) -> Tags:
    """Return the marks of a tensor into which results are written at the places that a batch names (its indices)."""
    from_batches = [tag[1] for tag in key if isinstance(tag, tuple) and tag[0] == "batch"]
    return frozenset(("placed", loader) for loader in from_batches if ("measure", loader) not in holder)


def cut(tags: Tags) -> Tags:
    """Return the tags of a part of a value, or of one kept by its name: what ranks have twice may be left out."""
    padded = [tag for tag in tags if isinstance(tag, tuple) and tag[0] == "pooled" and tag[2] == "padded"]
    return tags | {("pooled", tag[1], "cut") for tag in padded} if padded else tags

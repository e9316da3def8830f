"""Batches that a script's own object cuts out of its data by the rank, with no DataLoader anywhere."""

from ddpdoctor.events import LoaderBuilt
from ddpdoctor.reader.abstract import Abstract, Items, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.iteration import batch_tags
from ddpdoctor.reader.library.modules import tagged
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk


def cut_by_hand(walk: Walk, holder: Object, batch: Abstract, call: Call) -> Abstract:
    """Return what a method gives, as a batch of the object where each rank gets inputs and targets of its own.

    Asked for in a loop, by the position that a rank stands at: what others have from a loader's iterator.
    """
    if not _is_a_batch(batch) or not walk.loops or walk.in_forward:
        return batch
    drawn = ("loader", holder.ref)
    if drawn not in holder.tags:
        holder.tags |= {drawn}
        walk.emit(LoaderBuilt, call.node, loader=holder.ref, sharded_by="the dataset", cut_by_rank=True)
    return tagged(batch, batch_tags(frozenset({drawn})))


def _is_a_batch(value: Abstract) -> bool:
    """Whether a value is several tensors that a rank has cut out for itself."""
    if not isinstance(value, Items) or value.open or len(value.items) < SEVERAL:
        return False
    return all(
        isinstance(item, (Made, Opaque))
        and "shard" in item.tags
        and not any(isinstance(tag, tuple) and tag[0] in ("batch", "loader", "forward") for tag in item.tags)
        for item in value.items
    )


SEVERAL = 2
"""Inputs and targets."""

"""Batches that a script's own code cuts out of its data, with no DataLoader anywhere."""

import ast
from collections.abc import Collection

from ddpdoctor.events import IN_ORDER, LoaderBuilt
from ddpdoctor.reader.abstract import Abstract, Items, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.iteration import batch_tags
from ddpdoctor.reader.library.modules import tagged
from ddpdoctor.reader.objects import Bound, Function, Made, Object
from ddpdoctor.reader.tags import Tags
from ddpdoctor.reader.walk import Walk
from ddpdoctor.value import Constant, Ref


def cut_by_hand(walk: Walk, method: Bound, batch: Abstract, call: Call) -> Abstract:
    """Return what a method gives, as a batch of its object: one that each rank has cut out for itself, or all alike.

    Asked for in a loop, by the position that a rank stands at: what others have from a loader's iterator.
    """
    holder = method.receiver
    if not isinstance(holder, Object) or not _is_in_training(walk):
        return batch
    parts = _parts(batch)
    if parts and all("shard" in part.tags for part in parts):
        drawn = ("loader", holder.ref)
        if drawn not in holder.tags:
            holder.tags |= {drawn}
            walk.emit(LoaderBuilt, call.node, loader=holder.ref, sharded_by="the dataset", cut_by_rank=True)
        return tagged(batch, batch_tags(frozenset({drawn})))
    how = _taken_alike(parts, walk.syntax.attributes_set_in(method.function.node))
    if how is None or walk.syntax.mentions_rank(holder.cls) or walk.syntax.is_filled(holder.cls) or _has_a_rank(holder):
        return batch
    return _as_batch(walk, holder.ref, how, batch, call)


def drawn_by_hand(walk: Walk, function: Function, batch: Abstract, call: Call) -> Abstract:
    """Return what a function gives, as a batch where it draws inputs and targets at random out of data."""
    if not _is_in_training(walk):
        return batch
    how = _taken_alike(_parts(batch), ())
    if how is None:
        return batch
    return _as_batch(walk, function.node, how, batch, call)


def _is_in_training(walk: Walk) -> bool:
    """Whether a loop goes on from batch to batch here: it is none of a model's, nor of what gets a single sample."""
    return bool(walk.loops) and not walk.in_forward and not any(one.kind == "worker" for one in walk.within)


def _as_batch(walk: Walk, source: "Ref | ast.AST", how: str, batch: Abstract, call: Call) -> Abstract:
    loader = walk.by_hand.get(source)
    if loader is None:
        loader = source if isinstance(source, Ref) else walk.ref("batches drawn by hand", call.node)
        walk.by_hand[source] = loader
        shuffle = Constant(value=how != IN_ORDER)
        walk.emit(LoaderBuilt, call.node, place=loader.place, loader=loader, shuffle=shuffle, by_hand=how)
    return tagged(batch, batch_tags(frozenset({("loader", loader)})))


def _parts(value: Abstract) -> "list[Made | Opaque]":
    """Return the tensors of a batch, none where a value is no such thing, or one that is a batch already."""
    if not isinstance(value, Items) or value.open or len(value.items) < SEVERAL:
        return []
    parts = [item for item in value.items if isinstance(item, (Made, Opaque)) and not _is_drawn(item.tags)]
    return parts if len(parts) == len(value.items) else []


def _is_drawn(tags: Tags) -> bool:
    return any(isinstance(tag, tuple) and tag[0] in ("batch", "loader", "forward") for tag in tags)


SEVERAL = 2
"""Inputs and targets."""


def _taken_alike(parts: "list[Made | Opaque]", moved: Collection[str]) -> str | None:
    """Return how every rank comes to the same parts of the data, or ``None`` where it may come to others.

    In order, from a position that the object itself moves on, or by numbers from a generator, which is named then.
    """
    if not parts or any(not OTHERS.isdisjoint(part.tags) for part in parts):
        return None
    generators = [{tag[1] for tag in part.tags if isinstance(tag, tuple) and tag[0] == "random"} for part in parts]
    if all(generators):
        both = set.intersection(*generators)
        return next(iter(both)) if len(both) == 1 and set.union(*generators) == both else None
    positions = [{tag[1] for tag in part.tags if isinstance(tag, tuple) and tag[0] == "from"} for part in parts]
    return IN_ORDER if not any(generators) and all(not found.isdisjoint(moved) for found in positions) else None


OTHERS = frozenset({"rank", "shard", "data", "guessed", "world"})
"""What a part of the data that differs between ranks was touched by."""


def _has_a_rank(holder: Object) -> bool:
    """Whether an object holds what differs between ranks: from there its position may come."""
    return any(not OTHERS.isdisjoint(value.tags) for cell in holder.attributes.values() for _, value in cell)

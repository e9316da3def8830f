"""Where a loss came from: the forwards and batches that flowed into it."""

from ddpdoctor.reader.tags import Tags
from ddpdoctor.value import Ref


def forwards_in(tags: Tags) -> tuple[int, ...]:
    """Return the forwards that flowed into a value, by the order of their events."""
    return tuple(sorted(tag[1] for tag in tags if isinstance(tag, tuple) and tag[0] == "forward"))


def batches_in(tags: Tags) -> tuple[Ref, ...]:
    """Return the loaders whose batches flowed into a value."""
    refs = [tag[1] for tag in tags if isinstance(tag, tuple) and tag[0] == "batch"]
    return tuple(sorted(refs, key=lambda ref: ref.place))

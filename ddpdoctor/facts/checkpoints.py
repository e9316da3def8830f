"""Checkpoints: whether a file that is loaded is one that the script saves with a model's state in it."""

from ddpdoctor.events import FileUsed, ItemTaken
from ddpdoctor.trace import Predicted


def saved_as(trace: Predicted, load: FileUsed) -> tuple[FileUsed, ...]:
    """Return the saves of a model's state that certainly made a file: they have its name, or the items taken of it."""
    taken = {one.key for one in trace.of(ItemTaken) if load.order in one.read}
    saves = [save for save in trace.of(FileUsed) if save.op == "save" and any(state.module for state in save.states)]
    return tuple(
        save for save in saves if save.path.text() == load.path.text() or (taken and taken <= frozenset(save.keys))
    )

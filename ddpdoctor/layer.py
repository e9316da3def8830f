"""The three layers of a check-up, and what became of each."""

from ddpdoctor.record import Record

SOURCE = "source"
MODEL = "model"
PROBE = "probe"
LAYERS = (SOURCE, MODEL, PROBE)


class LayerState(Record):
    """What became of a layer: ``checked``, ``not-run`` or ``failed``, with the reason in one line for the latter two,
    and in ``details`` what a reader should know (what was redirected, what was put in the place of data).
    """

    state: str
    reason: str | None = None
    details: tuple[str, ...] = ()


CHECKED = LayerState(state="checked")

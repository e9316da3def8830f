"""Numbers that are drawn at random, by which code of the script's own chooses from its data."""

from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.objects import Made
from ddpdoctor.reader.walk import Walk


def _drawn(walk: Walk, call: Call) -> Abstract | None:
    """Return what a package's own generator draws; one that is given draws by a seed of its own."""
    if "generator" in call.kwargs:
        return None
    package = call.path.partition(".")[0]
    return walk.make(call, call.flow() | {("random", package)})


def _sampled(walk: Walk, call: Call) -> Abstract | None:
    """``random.sample(range(len(data)), n)``: places in data; of other items it is not known where they come from."""
    source = call.args[0] if call.args else None
    return _drawn(walk, call) if isinstance(source, Made) and source.path == "builtins.range" else None


FUNCTIONS = {
    **dict.fromkeys(
        (
            *(f"numpy.random.{name}" for name in ("randint", "choice", "permutation", "random_integers")),
            *("random.randint", "random.randrange", "torch.randperm"),
        ),
        _drawn,
    ),
    **dict.fromkeys(("random.sample", "random.choices"), _sampled),
}

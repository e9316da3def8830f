"""The buffers of a model: what is registered as one, and whether there is any."""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import NONE, TRUE, Abstract, known
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.architectures import trains_batch_norm
from ddpdoctor.reader.library.kinds import BATCH_NORMS, WRAPPERS
from ddpdoctor.reader.library.parts import SYNC_BATCH_NORM, Parts, held, is_from_elsewhere
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk

BUFFERS = "registered buffers"
"""The hidden attribute of a module on which ``register_buffer`` was called."""


def has_buffers(parts: Parts) -> bool | None:
    """Whether a model has buffers that DDP broadcasts; ``None`` where it is not all shown."""
    answers = {_own_buffers(part) for part in parts}
    if True in answers:
        return True
    return None if None in answers or not answers else False


def _own_buffers(module: "Made | Object") -> bool | None:
    if BUFFERS in module.attributes:
        return True
    if isinstance(module, Object):
        if any(path in BATCH_NORMS for path in module.cls.external_bases()):
            return True
        if any(isinstance(part, Made) and part.path == "torch.nn.Buffer" for _, part in held(module)):
            return True
        strange = [part for _, part in held(module) if isinstance(part, Made) and is_from_elsewhere(part)]
        plain = all(path in ("torch.nn.Module", "builtins.object") for path in module.cls.external_bases())
        return False if plain and not strange else None
    if module.path in BATCH_NORMS or module.path == SYNC_BATCH_NORM or trains_batch_norm(module):
        return known(module.argument("track_running_stats", 4), True) is not False
    if module.path.startswith("torch.nn.InstanceNorm"):
        return known(module.argument("track_running_stats", 4), False) is True
    if module.path in WRAPPERS:
        return False
    return False if module.path.startswith("torch.nn.") and module.path != "torch.nn.Module" else None


def _register_buffer(walk: Walk, call: Call) -> Abstract | None:
    receiver = call.receiver
    if not isinstance(receiver, Object):
        return None
    tensor = call.argument("tensor", 1)
    if tensor is None or known(tensor, 0) is None:
        return NONE
    receiver.attributes.setdefault(BUFFERS, [(walk.path, TRUE)])
    name = known(call.argument("name", 0))
    if isinstance(name, str):
        receiver.attributes[name] = [(ALWAYS, tensor)]
    return NONE


METHODS = {"register_buffer": _register_buffer}

"""Tensors that are certainly on the CPU: made with no device named, or put there, and moved nowhere since.

What is computed from one is another value, of which that is not certain: a number on the CPU and a tensor on a GPU
make one on the GPU. Only what changes a tensor in place leaves it where it is.
"""

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import TRUE, Abstract, Items, Opaque

ON_CPU = "on the CPU"
"""The hidden attribute of such a tensor."""


def on_cpu(value: Opaque) -> Opaque:
    """Note that a tensor is on the CPU, and return it."""
    value.attributes[ON_CPU] = [(ALWAYS, TRUE)]
    return value


def is_on_cpu(value: Abstract | None) -> bool:
    """Whether a tensor, or one of a list of them, is certainly on the CPU."""
    if isinstance(value, Items):
        return any(isinstance(item, Opaque) and ON_CPU in item.attributes for item in value.items)
    return isinstance(value, Opaque) and ON_CPU in value.attributes

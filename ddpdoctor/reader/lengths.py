"""How many samples there are in a data set, where the source says so."""

import ast
from collections.abc import Sequence

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import Abstract, Items, Known, Opaque, known, options
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.cells import read
from ddpdoctor.reader.formulas import number
from ddpdoctor.reader.objects import Function, Made, Object
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import WORLDS, evaluate

LENGTH = "__len__"
"""The attribute under which a tensor, or a part of a data set, has its length."""
MAX_DEPTH = 5


def lengths(walk: Walk, value: Abstract | None, depth: int = 0) -> tuple[int, ...]:
    """Return the lengths that a data set can have: none where one of them is not known."""
    found = [_length(walk, option, depth) for _, option in options(value)] if value is not None else []
    return tuple(dict.fromkeys(n for n in found if n is not None)) if None not in found else ()


def _one(walk: Walk, value: Abstract | None, depth: int) -> int | None:
    found = lengths(walk, value, depth) if depth <= MAX_DEPTH else ()
    return found[0] if len(found) == 1 else None


def _length(walk: Walk, value: Abstract, depth: int) -> int | None:
    if isinstance(value, Items):
        return None if value.open else len(value.items)
    if isinstance(value, Known):
        return len(value.value) if isinstance(value.value, (str, tuple, range)) else None
    if isinstance(value, Object):
        return _by_its_method(walk, value, depth)
    if not isinstance(value, (Made, Opaque)):
        return None
    cell = value.attributes.get(LENGTH)
    if cell is not None:
        length = known(read(cell, walk.path))
        return length if isinstance(length, int) else None
    return _of_call(walk, value, depth) if isinstance(value, Made) else None


def _of_call(walk: Walk, made: Made, depth: int) -> int | None:
    """Return the length of what a call outside the project made."""
    package, _, name = made.path.rpartition(".")
    if made.path == "builtins.range":
        return _count(made.args)
    if made.path in ("builtins.list", "builtins.tuple", "builtins.sorted"):
        return _one(walk, made.args[0], depth + 1) if made.args else None
    if made.path == "torch.utils.data.TensorDataset":
        found = (_one(walk, tensor, depth + 1) for tensor in made.args)
        return next((length for length in found if length is not None), None)
    if made.path == "torch.utils.data.Subset":
        return _one(walk, made.argument("indices", 1), depth + 1)
    if made.path == "torch.utils.data.ConcatDataset":
        parts = made.args[0].items if made.args and isinstance(made.args[0], Items) and not made.args[0].open else []
        sizes = [_one(walk, part, depth + 1) for part in parts]
        return sum(size for size in sizes if size is not None) if sizes and None not in sizes else None
    if package == "torchvision.datasets" and name == "FakeData":
        size = known(made.argument("size", 0), 1000)
        return size if isinstance(size, int) else None
    return _published(made, name) if package == "torchvision.datasets" else None


def _count(bounds: Sequence[Abstract]) -> int | None:
    """Return how many numbers a range has."""
    numbers = [one.value for one in bounds if isinstance(one, Known) and isinstance(one.value, int)]
    return len(range(*numbers)) if 0 < len(numbers) == len(bounds) < 4 and numbers[2:] != [0] else None


def _published(made: Made, name: str) -> int | None:
    """Return the length of one of the data sets that everybody has."""
    if name in BY_TRAIN:
        train = known(made.argument("train", 1), True) if _is_plain(made, "train") else None
        return BY_TRAIN[name][train is True] if isinstance(train, bool) else None
    split = known(made.argument("split", 1), "train") if _is_plain(made, "split") else None
    return BY_SPLIT.get(name, {}).get(str(split))


def _is_plain(made: Made, name: str) -> bool:
    """Whether which part of a data set is taken is written in the call, or left to its default."""
    given = made.argument(name, 1)
    return not made.open and (given is None or isinstance(given, Known))


BY_TRAIN = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST"), (10_000, 60_000)),
    **dict.fromkeys(("CIFAR10", "CIFAR100"), (10_000, 50_000)),
}
"""How many samples torchvision's data sets have: for testing and for training."""
BY_SPLIT = {
    "ImageNet": {"train": 1_281_167, "val": 50_000},
    "SVHN": {"train": 73_257, "test": 26_032, "extra": 531_131},
    "STL10": {"train": 5_000, "test": 8_000, "unlabeled": 100_000},
    "Food101": {"train": 75_750, "test": 25_250},
}


def _by_its_method(walk: Walk, value: Object, depth: int) -> int | None:
    """Return what a class's own ``__len__`` returns: a number, an attribute, or how many an attribute has."""
    method = class_attribute(walk, value.cls, LENGTH)
    if not isinstance(method, Function) or isinstance(method.node, ast.Lambda):
        return None
    returned = method.node.body[-1]
    if not isinstance(returned, ast.Return) or len(method.node.body) > 2:
        return None
    what = returned.value
    if isinstance(what, ast.Constant):
        return what.value if isinstance(what.value, int) else None
    if isinstance(what, ast.Attribute):
        length = known(_held(walk, value, what))
        return length if isinstance(length, int) else None
    counts = isinstance(what, ast.Call) and isinstance(what.func, ast.Name) and what.func.id == "len"
    return _one(walk, _held(walk, value, what.args[0]), depth + 1) if counts and len(what.args) == 1 else None  # type: ignore[union-attr]


def _held(walk: Walk, value: Object, node: ast.AST) -> Abstract | None:
    """Return ``self.samples``."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id != "self":
        return None
    cell = value.attributes.get(node.attr)
    return read(cell, walk.path) if cell is not None else None


def note(value: "Made | Opaque", length: int | None) -> None:
    """Write down how long a value is, where that is known."""
    if length is not None:
        value.attributes[LENGTH] = [(ALWAYS, Known(length))]


def rows(walk: Walk, call: Call) -> int | None:
    """Return the length of a tensor that a call makes: the first number of its size."""
    name = call.path.rpartition(".")[2]
    size = call.kwargs.get("size")
    first = known(call.args[0]) if call.args else None
    if name == "arange":
        return _count(call.args)
    if name == "linspace":
        steps = known(call.argument("steps", 2))
        return steps if isinstance(steps, int) else None
    if name in ("tensor", "as_tensor", "zeros_like", "ones_like"):
        return _one(walk, call.args[0], 0) if call.args else None
    if name == "randint":
        size = size or next((argument for argument in call.args if not isinstance(known(argument), int)), None)
    elif size is None and isinstance(first, int):
        return first
    elif size is None and call.args and not name.endswith("Tensor"):
        size = call.args[0]
    if isinstance(size, Items) and size.items and not size.open:
        length = known(size.items[0])
        return length if isinstance(length, int) else None
    shape = known(size)
    return shape[0] if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else None


def part_of(walk: Walk, holder: Abstract, key: Abstract, item: Abstract) -> None:
    """Write down how long ``holder[start:stop]`` is."""
    sliced = known(key)
    if not isinstance(sliced, slice) or not isinstance(item, Opaque) or not isinstance(holder, (Opaque, Made)):
        return
    bounds = (sliced.start, sliced.stop, sliced.step)
    whole = _one(walk, holder, 0)
    if whole is not None and sliced.step != 0 and all(bound is None or type(bound) is int for bound in bounds):
        note(item, len(range(whole)[sliced]))


def split_into(walk: Walk, dataset: Abstract | None, parts: list[Abstract]) -> list[int | None]:
    """Return the lengths of ``random_split``'s parts: numbers, or shares of a whole (torch/utils/data/dataset.py)."""
    given = [_worked_out(part) for part in parts]
    if all(isinstance(one, int) for one in given):
        return list(given)  # type: ignore[arg-type]
    whole = _one(walk, dataset, 0)
    shares = [one for one in given if isinstance(one, float)]
    if whole is None or len(shares) < len(given):
        return [None] * len(parts)
    sizes = [int(whole * share) for share in shares]
    for i in range(whole - sum(sizes) if abs(sum(shares) - 1) < MUCH_LESS else 0):
        sizes[i % len(sizes)] += 1
    return list(sizes)


def _worked_out(part: Abstract) -> object:
    """Return a number that is known, or that is made of lengths which are."""
    expression = number(part)
    return known(part) if expression is None else evaluate(expression, WORLDS["torchrun"][0])


MUCH_LESS = 1e-6

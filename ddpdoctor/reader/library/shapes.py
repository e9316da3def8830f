"""What can be told of a value's type and attributes without knowing it."""

from collections.abc import Iterable

from ddpdoctor.reader.abstract import Abstract, External, Items, Known, Opaque, Table, is_none
from ddpdoctor.reader.attributes import class_attribute
from ddpdoctor.reader.imports import module_attribute
from ddpdoctor.reader.library.kinds import WRAPPERS, is_module
from ddpdoctor.reader.module import Module
from ddpdoctor.reader.objects import Class, Function, Made, Object, Package
from ddpdoctor.reader.settings import Settings
from ddpdoctor.reader.walk import Walk
from ddpdoctor.world import RANK_LEAVES, Expression

_BUILTIN_TYPES = {
    "builtins.int": (int,),
    "builtins.str": (str,),
    "builtins.float": (float,),
    "builtins.bool": (bool,),
    "numbers.Number": (int, float, complex),
    "numbers.Real": (int, float),
    "numbers.Integral": (int,),
}


def is_instance(value: Abstract, cls: Abstract) -> bool | None:
    """Whether a value is an instance of a class; ``None`` when that cannot be told."""
    path = cls.path if isinstance(cls, External) else None
    if isinstance(value, Opaque) and isinstance(value.default, (Known, Items, Table)) and not is_none(value.default):
        return is_instance(value.default, cls)  # what the user gives in its place is of the same type
    if isinstance(value, Opaque) and path in _NO_NUMBERS and _is_a_count(value):
        return False
    if isinstance(value, Opaque) and path in _CONTAINERS and _is_of_the_launch(value):
        return False
    if isinstance(value, Object):
        if isinstance(cls, Class):
            return cls in value.cls.resolution()
        bases = value.cls.external_bases()
        if path in bases:
            return True
        return False if not bases or (path in WRAPPERS and is_module(value) and not _wraps(bases)) else None
    if isinstance(value, Made):
        if path == value.path:
            return True
        return False if value.path in WRAPPERS or path in WRAPPERS or isinstance(cls, Class) else None
    if isinstance(value, Known):
        return isinstance(value.value, _BUILTIN_TYPES[path]) if path in _BUILTIN_TYPES else False if path else None
    if isinstance(value, Items):
        return path == f"builtins.{value.kind}" if path and path.startswith("builtins.") else None
    if isinstance(value, Settings) and value.is_mapping() and path in _NO_NUMBERS:
        return path == "builtins.dict"
    if isinstance(value, (Class, Function)) and path in _KINDS_OF_CALLABLES:
        return _KINDS_OF_CALLABLES[path] is type(value)
    if isinstance(value, Table):
        return path == "builtins.dict" if path and path.startswith("builtins.") else None
    return None


def _wraps(bases: Iterable[str]) -> bool:
    """Whether one of the classes outside the project that a class is derived from puts a model into a wrapper."""
    return any(base in WRAPPERS or base.endswith(("DataParallel", "DDP")) for base in bases)


_NO_NUMBERS = frozenset({"builtins.tuple", "builtins.list", "builtins.dict", "builtins.str", "builtins.bool"})


_KINDS_OF_CALLABLES = {"builtins.type": Class, "types.FunctionType": Function}
_CONTAINERS = frozenset({"builtins.tuple", "builtins.list", "builtins.dict"})


def _is_of_the_launch(value: Opaque) -> bool:
    """Whether a value is a rank or how many there are, as a number or as the environment has it."""
    return value.expression is not None and value.expression.operator in (*RANK_LEAVES, "world_size")


def _is_a_count(value: Opaque) -> bool:
    """Whether a value is a length, or a difference or quotient of numbers."""
    worked_out = value.expression
    if worked_out is not None and worked_out.operator == "sized" and isinstance(worked_out.operands[0], Expression):
        worked_out = worked_out.operands[0]
    return value.name.startswith("len(") and (worked_out is None or worked_out.operator in ("-", "//"))


def can_have(walk: Walk, value: Abstract, name: str) -> bool | None:
    """Whether a value has an attribute; ``None`` when that cannot be told."""
    if isinstance(value, Object):
        if name in value.attributes or class_attribute(walk, value.cls, name) is not None:
            return True
        if value.inner is not None:
            return can_have(walk, value.inner, name)
        if name == "module":
            return False
        return None if value.cls.external_bases() else False
    if isinstance(value, Made):
        if name == "module":
            return value.path in WRAPPERS
        if name in value.attributes:
            return True
        return name in _METHODS_OF.get(value.path, ()) or None
    if isinstance(value, Function):
        return name in value.attributes or hasattr(can_have, name)
    if isinstance(value, (Known, Items, Table)):
        plain = value.value if isinstance(value, Known) else [] if isinstance(value, Items) else {}
        return hasattr(plain, name)
    return _module_has(walk, value.module, name) if isinstance(value, Package) else None


def _module_has(walk: Walk, module: Module, name: str) -> bool | None:
    """Whether a module of the project has a name; ``None`` where it takes all names of another that is outside."""
    walk.load(module)
    found = module_attribute(walk, module, name)
    if not isinstance(found, External) or found.path != f"{module.name}.{name}":
        return True
    return None if any(isinstance(star, str) for star in module.stars) or "__getattr__" in module.cells else False


_METHODS_OF = {
    "torch.utils.data.DistributedSampler": frozenset({"set_epoch", "num_replicas", "rank", "dataset"}),
    "torch.utils.data.DataLoader": frozenset({"sampler", "dataset", "batch_sampler", "batch_size"}),
}

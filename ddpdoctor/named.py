"""Named tuples that cost next to nothing to define.

Those of ``typing`` and ``collections`` compile a function for each class and for each annotation that is a text: 0.3 ms
a class, where the source layer has some thirty and must start in milliseconds. To a type checker these are the same.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from operator import itemgetter

    try:
        from _collections import _tuplegetter  # what collections.namedtuple reads its fields with
    except ImportError:  # an interpreter other than CPython
        _tuplegetter = None

    class _Definition(type):
        """Makes a tuple of a class's annotations: the fields are read by name, and have no other place to be."""

        def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            cls = super().__new__(mcls, name, bases, {"__slots__": (), **namespace})
            cls._fields = tuple(cls.__annotations__)
            cls._field_defaults = {field: namespace[field] for field in cls._fields if field in namespace}
            required = next((i for i, field in enumerate(cls._fields) if field in namespace), len(cls._fields))
            if cls._fields and "__new__" not in namespace:
                cls.__new__ = _maker(len(cls._fields), required, tuple(map(namespace.get, cls._fields)))
            for index, field in enumerate(cls._fields):
                setattr(cls, field, _tuplegetter(index, None) if _tuplegetter else property(itemgetter(index)))
            return cls

    class NamedTuple(tuple, metaclass=_Definition):
        """An immutable tuple whose items have names and types, and defaults where they are given some."""

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            pairs = zip(self._fields, self, strict=True)
            return f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in pairs)})"

        def _replace(self, **changes: Any) -> "NamedTuple":
            """Return the tuple with some of its fields changed."""
            changed = _tuple(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{type(self).__name__} has no fields {', '.join(changes)}")
            return changed

        def _asdict(self) -> dict[str, Any]:
            """Return the fields by their names."""
            return dict(zip(self._fields, self, strict=True))

    _tuple = tuple.__new__

    def _maker(count: int, required: int, usual: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the ``__new__`` of a tuple of so many fields, for the many calls that name none of them above all."""

        def made(cls: type, *values: Any, **named: Any) -> "NamedTuple":
            if not named:
                given = len(values)
                if given == count:
                    return _tuple(cls, values)
                if required <= given < count:
                    return _tuple(cls, values + usual[given:])
            return _tuple(cls, values + _rest(cls, len(values), named))

        return made

    def _rest(cls: type, first: int, named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values of the fields that were not given by position, from the first of them on."""
        fields = cls._fields[first:]
        values = [named.pop(field) if field in named else _default(cls, field) for field in fields]
        if named or first > len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}: each once")
        return tuple(values)

    def _default(cls: type, field: str) -> Any:
        if field not in cls._field_defaults:
            raise TypeError(f"{cls.__name__} needs the field {field!r}")
        return cls._field_defaults[field]

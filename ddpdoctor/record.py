"""The base of every immutable value with named, typed fields.

Frozen dataclasses would do the same, but creating forty of them takes 40 ms at import; this base takes
less than one, and the source layer must start in milliseconds.
"""

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_options):
        """Stand in at run time for what only a type checker reads."""
        return lambda cls: cls


Self = TypeVar("Self", bound="Record")


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
class Record:
    """An immutable value: annotated class attributes are its fields, given by keyword; equal by identity."""

    FIELDS: ClassVar[tuple[str, ...]] = ()
    REQUIRED: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        own = tuple(name for name in cls.__annotations__ if not name.isupper())
        cls.FIELDS = (*(name for name in cls.FIELDS if name not in own), *own)
        cls.REQUIRED = frozenset(name for name in cls.FIELDS if not hasattr(cls, name))

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in self.FIELDS:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        if not values.keys() >= self.REQUIRED:
            raise TypeError(
                f"{type(self).__name__} needs the fields {', '.join(sorted(self.REQUIRED - values.keys()))}"
            )
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({given})"

    def with_(self: Self, **changes: Any) -> Self:
        """Return a copy with the given fields changed."""
        return type(self)(**{**self.__dict__, **changes})

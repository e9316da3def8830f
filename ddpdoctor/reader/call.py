"""A call as the models of what is called see it."""

import ast

from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.abstract import Abstract
from ddpdoctor.reader.frame import Frame
from ddpdoctor.reader.objects import Object
from ddpdoctor.reader.tags import NO_TAGS, Tags


class Call(NamedTuple):
    """A call: what is called (by its dotted path when it is from outside), the arguments, and where it stands.

    ``receiver`` is the object of a method; ``open`` is true when ``*`` or ``**`` of something unknown is passed too,
    and ``spread`` is what of batches flows in with that;
    ``instance`` is the project's object whose base class the call constructs, if it does that.
    """

    args: tuple[Abstract, ...]
    kwargs: dict[str, Abstract]
    node: ast.AST
    frame: Frame
    open: bool = False
    spread: Tags = NO_TAGS
    path: str = ""
    receiver: Abstract | None = None
    instance: Object | None = None

    def argument(self, name: str, position: int | None = None) -> Abstract | None:
        """Return an argument by name or position, or ``None`` when it was not given."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position is not None and position < len(self.args) else None

    def given(self) -> tuple[Abstract, ...]:
        """Return all arguments, positional ones first."""
        return (*self.args, *self.kwargs.values())

    def flow(self) -> Tags:
        """Return what flows into the call's result."""
        return self.spread.union(*(value.tags for value in self.given()))

    def with_first(self, value: Abstract) -> "Call":
        """Return the call with one more argument in front."""
        return self._replace(args=(value, *self.args))

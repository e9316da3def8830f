"""A module as far as its text tells: the functions and classes at its top level, its imports, and the words in each."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache

from ddpdoctor.content import read_file
from ddpdoctor.named import NamedTuple
from ddpdoctor.reader.source import MAX_BYTES
from ddpdoctor.reader.words import calls_by_name, speaks

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\n#]*)|"
    r"import[ \t]+(?P<plain>[^\n#]*))",
    re.M,
)
_IMPORTED_NAME = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_LONG_QUOTES = re.compile(r"\"\"\"|\'\'\'")
_PIECE = re.compile(
    r"^(?:(?P<decorator>@)|(?:async[ \t]+)?def[ \t]+(?P<function>\w+)|class[ \t]+(?P<cls>\w+)|(?P<entry>if __name__)|"
    r"(?P<variable>\w+)[ \t]*(?::[^=\n]+)?(?:[-+|&*/]|//)?=(?!=)|[^\s#)\]}])",
    re.M,
)
_COMMENT = re.compile(r"(?:^[ \t]*|  )#[^\n]*", re.M)
_CHAIN = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_CALLED = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)(\(?)")
_ANY_NAME = re.compile(r"\b(?:globals|locals|eval|exec)\(")
_SIGNS_OF_ANY_NAME = ("globals(", "locals(", "eval(", "exec(")
_ANY_NAME_OF = (
    ("getattr(", re.compile(r"\bgetattr\(\s*([\w.]+)")),
    ("vars(", re.compile(r"\bvars\(\s*([\w.]+)")),
    (".__dict__", re.compile(r"([\w.]+)\.__dict__")),
)
"""What stands in a text where it is worth the look, which takes as long as all the others together."""


class Imported(NamedTuple):
    """What an import takes: the dots before a module's name, the name, and what is taken from the module.

    ``taken`` is empty where it is the module itself.
    """

    level: int
    module: str
    taken: str


class Block:
    """A piece of a module, without its imports; ``hidden`` are names that stand for what the words are about."""

    def __init__(self, text: str, hidden: frozenset[str] = frozenset(), *, only_called: bool = False) -> None:
        self._text = text
        self._hidden = hidden
        self._only_called = only_called

    @cached_property
    def chains(self) -> frozenset[str]:
        """The names in it, dotted ones whole."""
        return frozenset(_CHAIN.findall(self._text))

    @cached_property
    def dotted(self) -> dict[str, tuple[str, ...]]:
        """The same by the name that each begins with."""
        found: dict[str, tuple[str, ...]] = {}
        for chain in self.chains:
            first = chain.partition(".")[0]
            found[first] = (*found.get(first, ()), chain)
        return found

    @cached_property
    def spoken(self) -> bool:
        """Whether a word of training in several processes stands in it, or a name for what they are about."""
        if speaks(self._text):
            return True
        used = (_called(self._text) if self._only_called else self.chains) if self._hidden else ()
        return any(chain.partition(".")[0] in self._hidden for chain in used)

    @cached_property
    def calls_by_name(self) -> bool:
        """Whether it comes to code by a name that nothing tells."""
        return calls_by_name(self._text)

    @cached_property
    def worked_out(self) -> frozenset[str]:
        """What it takes things from by names that it works out."""
        return frozenset(name for sign, look in _ANY_NAME_OF if sign in self._text for name in look.findall(self._text))

    @cached_property
    def anything(self) -> bool:
        """Whether it takes anything that its module knows by names that it works out."""
        here = any(sign in self._text for sign in _SIGNS_OF_ANY_NAME)
        return here and _ANY_NAME.search(self._text) is not None


class Outline(NamedTuple):
    """What a module is made of: ``rest`` is what its import runs, besides its own imports; ``whole`` is all of it.

    ``bound`` has what the names that imports give stand for.
    """

    blocks: dict[str, tuple[Block, ...]]
    rest: Block
    whole: Block
    imports: frozenset[Imported]
    bound: dict[str, tuple[Imported, ...]]
    stars: tuple[Imported, ...]


@lru_cache(maxsize=2_000)
def outline_of(file: str, _changed: int, _size: int) -> Outline:
    """Return a file's outline, made once until the file has changed.

    Raises OSError when it cannot be read.
    """
    return outline(read_file(file, MAX_BYTES).decode("latin-1"))  # whatever the encoding is: the words are ASCII


@lru_cache(maxsize=2_000)
def outline(source: str) -> Outline:
    """Return the outline of a module's text."""
    text = _without_prose(source.replace("\\\n", " "))
    imports = tuple(dict.fromkeys(_imports(text)))
    bound: dict[str, tuple[Imported, ...]] = {}
    for alias, imported in imports:
        top = imported.module.partition(".")[0]
        name, meant = (alias, imported) if alias or imported.taken else (top, Imported(0, top, ""))
        bound[name or imported.taken] = (*bound.get(name or imported.taken, ()), meant)
    stars = bound.pop("*", ())
    hidden = frozenset(name for name, imported in bound.items() if any(map(_brings_words, imported)))
    blocks: dict[str, tuple[Block, ...]] = {}
    rest: list[str] = []
    left = _IMPORT.sub("", _COMMENT.sub("", text))
    for kind, name, piece in _pieces(left):
        if name:
            blocks[name] = (*blocks.get(name, ()), Block(piece, hidden))
        if kind == "variable":
            rest.append(
                " ".join(f"{name}()" for name in _called(piece)) + "\n"
            )  # only what is called does something by now
        elif kind == "rest":
            rest.append(piece)
    return Outline(
        blocks,
        Block("".join(rest), hidden, only_called=True),
        Block(left, hidden),
        frozenset(imported for _, imported in imports),
        bound,
        stars,
    )


def _called(text: str) -> list[str]:
    return [name for name, bracket in _CALLED.findall(text) if bracket]


def _without_prose(text: str) -> str:
    """Return a text with its long strings emptied, which are prose; a formatted one has code in it."""
    kept: list[str] = []
    taken, at = 0, 0
    while (quotes := _LONG_QUOTES.search(text, at)) is not None:
        start, inside = quotes.span()
        end = text.find(quotes[0], inside)
        at = end + 3 if end >= 0 else start + 1
        if end >= 0 and not _is_formatted(text[max(0, start - 2) : start]):
            kept += (text[taken:start], '""')
            taken = at
    return "".join((*kept, text[taken:]))


def _is_formatted(before: str) -> bool:
    """Whether the two letters before a string's quotes make it a formatted one."""
    last = before[-1:].lower()
    return last == "f" or (last == "r" and before[0] in "fF")


def _imports(text: str) -> Iterator[tuple[str, Imported]]:
    """Yield what is imported, each with the name that it is given by ``as``, if it is."""
    for match in _IMPORT.finditer(text):
        if match["plain"] is not None:
            for module, alias in _IMPORTED_NAME.findall(match["plain"]):
                yield alias, Imported(0, module, "")
        else:
            for taken, alias in _IMPORTED_NAME.findall(match["names"]):
                yield alias, Imported(len(match["dots"]), match["module"], taken)


@lru_cache(maxsize=10_000)
def _brings_words(imported: Imported) -> bool:
    """Whether an import gives a name to what the words are about; ``import torch.distributed`` gives none."""
    name = f"{imported.module}.{imported.taken}".rstrip(".")
    return speaks(f"import {name}")


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the pieces of a text: what each is and the name that it defines, if it does."""
    start, kind, name = 0, "rest", ""
    for match in _PIECE.finditer(text):
        following = match.lastgroup or "rest"
        if kind == "decorator" and following in ("decorator", "function", "cls"):
            kind, name = following, match[following] if following != "decorator" else ""
            continue
        yield kind, name, text[start : match.start()]
        start, kind = match.start(), following
        name = match[following] if following in ("function", "cls", "variable") else ""
    yield kind, name, text[start:]

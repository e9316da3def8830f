"""Whether a program can have anything to do with distributed training, as far as its text and its modules' tell."""

from functools import lru_cache
from typing import TYPE_CHECKING

from ddpdoctor.reader.project import Project
from ddpdoctor.reader.words import has_a_word

if TYPE_CHECKING:
    from ddpdoctor.reader.outline import Block


def may_concern(project: Project) -> bool:
    """Whether the script has one of the words, or comes by names to code of its project that has one."""
    assert project.main.source is not None
    if has_a_word(project.main.source.text):
        return True
    from ddpdoctor.reader.reach import Search  # most scripts that are checked say it themselves

    return Search(project).reaches_words() or project.overflowed


@lru_cache(maxsize=256)
def found_silent(roots: tuple[str, ...]) -> "set[Block]":
    """Return the blocks of modules that were found to come to no word, when modules are looked for in some folders."""
    return set()


forget = found_silent.cache_clear
"""Forget what was found of modules, which may have changed since."""

"""Configurations that files hold: values that the user gives, and what the project's own files say of them."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ddpdoctor import content
from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import Abstract, Cells, Items, Known, Opaque, Table
from ddpdoctor.reader.names import RANK_NAMES, hinted
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.shelf import Shelf
from ddpdoctor.reader.yaml_text import load_yaml
from ddpdoctor.value import UNKNOWN_VALUE
from ddpdoctor.world import RANK_LEAVES

CONFIGURATION = frozenset({"configuration"})
UNREAD = ("configuration", "unread")
"""The tag of what may stand in a file that was not to be read."""


class Setting(Opaque):
    """A value that a configuration file has: each experiment has a file of its own, and another value.

    ``type`` is what the values of all files that there are are of, ``None`` where they differ in it.
    """

    __slots__ = ("type",)

    def __init__(self, name: str, values: list[Any], default: Abstract | None) -> None:
        super().__init__(name, CONFIGURATION, origin="configuration", default=default)
        types = {type(value) for value in values}
        self.type = types.pop() if len(types) == 1 and UNKNOWN_VALUE not in values else None


class Settings(Opaque):
    """A configuration, or a part of one: ``contents`` are what the files that it can come from hold there.

    Where they all say the same, that is the default; what a user's own file says is not known. ``certain`` when an
    option names the one file by default. One of the contents is ``UNKNOWN_VALUE`` where a file is there, and what it
    holds was not to be read.
    """

    __slots__ = ("certain", "contents", "sections")

    def __init__(self, name: str, contents: Sequence[Any], *, certain: bool) -> None:
        super().__init__(name, CONFIGURATION, origin="configuration")
        self.sections: dict[object, Settings | Items] = {}  # as they are given out: what the program sets in one stays
        self.contents = tuple(one for one in contents if one is not UNKNOWN_VALUE)
        self.certain = certain
        if len(self.contents) < len(contents):
            self.tags |= {UNREAD}
            self.certain = False

    def may_lack(self, key: object) -> bool:
        """Whether an item is lacking in one of the files, or no file is known."""
        return not self.contents or any(not isinstance(one, dict) or key not in one for one in self.contents)

    def keys(self) -> list[str]:
        """Return the keys that all of the files have here."""
        first, *others = [one if isinstance(one, dict) else {} for one in self.contents] or [{}]
        return [key for key in first if isinstance(key, str) and all(key in other for other in others)]

    def item(self, key: object, name: str) -> Abstract | None:
        """Return an item, ``None`` where none of the files has it."""
        if not isinstance(key, (str, int)):
            return None
        if key in self.sections:
            return self.sections[key]
        values = [one[key] for one in self.contents if isinstance(one, dict) and key in one]
        if not values:
            return None
        read = [value for value in values if value is not UNKNOWN_VALUE]
        if read and all(isinstance(value, dict) for value in read):
            self.sections[key] = Settings(name, values, certain=self.certain)
        elif all(isinstance(value, list) and any(isinstance(one, dict) for one in value) for value in values):
            self.sections[key] = self._listed(values, name)
        else:
            return self._single(key, values, name)
        return self.sections[key]

    def _listed(self, values: list[Any], name: str) -> Items:
        """Return a list that has sections in it: each file's first item, its second, as far as all of them have one."""
        rows = list(zip(*values, strict=False))
        longer = any(len(value) > len(rows) for value in values) or not self.certain
        whole = Settings(name, [dict(enumerate(value)) for value in values], certain=self.certain)
        items = [whole.item(at, f"{name}[{at}]") for at in range(len(rows))]
        return Items([item for item in items if item is not None], more=longer)

    def _single(self, key: object, values: list[Any], name: str) -> Opaque:
        first = values[0]
        usual = 2 * len(values) >= len(self.contents)  # and not one of a few that are told apart by having it
        agreed = usual and all(type(value) is type(first) and value == first for value in values)
        default = _plain(first) if agreed or _all_name_classes(values) else None
        if _is_filled_in(key, values):
            found = hinted(str(key), CONFIGURATION, origin="configuration", label=name)
            found.default = default
            return found
        return Setting(name, values, default)

    def table(self) -> Table:
        """Return it as a dictionary; it can hold more where it is not certain which file it is."""
        cells: Cells = {}
        for key in self.keys():
            value = self.item(key, f"{self.name}[{key!r}]")
            if value is not None:
                cells[key] = [(ALWAYS, value)]
        cells.update((key, list(cell)) for key, cell in self.attributes.items() if isinstance(key, str))
        return Table(cells, more=not self.certain)

    def is_mapping(self) -> bool:
        """Whether it is certainly a dictionary: the files hold one, or the program gave it an item by name."""
        named = any(isinstance(key, str) for key in self.attributes)
        return named or (bool(self.contents) and all(isinstance(one, dict) for one in self.contents))


NAMED_CLASS = r"[A-Za-z_]\w*(?:\.[a-z_]\w*)*\.[A-Z]\w*"


def _all_name_classes(values: list[Any]) -> bool:
    """Whether the files differ in the class that they name, ``trainers.gan.Trainer``: the first stands for all."""
    return all(isinstance(value, str) and re.fullmatch(NAMED_CLASS, value) for value in values)


def _is_filled_in(key: object, values: list[Any]) -> bool:
    """Whether an item is a process's number: no file can say it for all of them, so each puts its own there.

    ``rank`` alone is often that of a matrix, which is no placeholder.
    """
    leaf = RANK_NAMES.get(key.lower()) if isinstance(key, str) else None
    placeholders = all(value in (None, 0, -1) for value in values)
    return leaf in RANK_LEAVES and (placeholders or (leaf == "local_rank" and "local" in str(key).lower()))


def _plain(value: object) -> Abstract | None:
    if isinstance(value, list):
        plain = not any(isinstance(item, (dict, list)) or item is UNKNOWN_VALUE for item in value)
        return Items([Known(item) for item in value]) if plain else None
    return None if value is UNKNOWN_VALUE else Known(value)


MAX_FILES = 40
MAX_BYTES = 100_000
FOLDERS = ("conf", "cfg", "option", "opt", "exp", "hparam", "param", "yaml", "json", "setting")
"""How the names of folders begin that hold configurations."""
ENDINGS = {"json": (".json",), "yaml": (".yaml", ".yml")}


def settings_of(project: Project, path: object, kind: str, name: str) -> Settings:
    """Return the configuration in a file: that of a path, or, where it is not known, in any of the project's."""
    if isinstance(path, str) and path:
        for root in (project.directory, *project.roots):
            held = read_settings(os.path.join(root, path))
            if isinstance(held, dict) or held is UNKNOWN_VALUE:
                return Settings(name, (held,), certain=True)
    found = map(read_settings, _files(project, kind))
    return Settings(name, [one for one in found if isinstance(one, dict) or one is UNKNOWN_VALUE], certain=False)


def _files(project: Project, kind: str) -> list[str]:
    """Return the configuration files beside a script, and in folders named for them, beside it or at the top."""
    return list(islice(dict.fromkeys(_candidates(project, kind)), MAX_FILES))


def _candidates(project: Project, kind: str) -> Iterator[str]:
    met: set[str] = set()  # a link can lead back to where it lies
    for folder in dict.fromkeys((os.path.dirname(project.script), project.directory)):
        names = _names_in(folder)
        if folder == os.path.dirname(project.script):
            yield from (os.path.join(folder, name) for name in names if name.endswith(ENDINGS[kind]))
        for name in names:
            if name.lower().startswith(FOLDERS):
                yield from _below(os.path.join(folder, name), kind, DEPTH, met)


def _below(folder: str, kind: str, depth: int, met: set[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in met or len(met) >= MAX_FOLDERS:
        return
    met.add(real)
    names = _names_in(folder)
    yield from (os.path.join(folder, name) for name in names if name.endswith(ENDINGS[kind]))
    if depth:
        for name in names:
            yield from _below(os.path.join(folder, name), kind, depth - 1, met)


DEPTH = 2
"""How deep folders of configurations hold others: ``options/train/denoising/small.yml``."""
MAX_FOLDERS = 1_000


def _names_in(folder: str) -> list[str]:
    """Return the names in a folder, none where it is none or holds more than any folder of configurations."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return names if len(names) < MAX_NAMES else []


MAX_NAMES = 400


def read_settings(file: str) -> Any:
    """Return the content of a JSON or YAML file: ``None`` where there is none, ``UNKNOWN_VALUE`` for no such text."""
    try:
        state = os.stat(file)
    except (OSError, ValueError):  # a null byte is in no file's name
        return None
    if stat.S_ISDIR(state.st_mode):
        return None
    size = min(state.st_size, MAX_BYTES)
    return _READ.get((file, state.st_ino, state.st_mtime_ns, state.st_size), size, lambda: _read(file))


MAX_KEPT = 2_000_000
"""In bytes of files; what is made of them takes several times as much memory."""
_READ = Shelf[Any](MAX_KEPT)


def _read(file: str) -> Any:
    try:
        held = content.read_file(file, MAX_BYTES)
        if len(held) > MAX_BYTES:
            return UNKNOWN_VALUE
        text = held.decode("utf-8-sig")
        return _load_json(text) if file.endswith(ENDINGS["json"]) else load_yaml(text)
    except (OSError, ValueError, RecursionError):
        return UNKNOWN_VALUE


def _load_json(text: str) -> Any:
    """Return what a JSON file holds, also one with comments, which its program takes out."""
    import json  # only here: few scripts need it

    try:
        return json.loads(text)
    except ValueError:
        return json.loads(COMMENT_OR_TEXT.sub(lambda found: found[1] or "", text))


COMMENT_OR_TEXT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
"""One that has no end goes on to where it must have one, so that nothing is looked at twice."""


def composed(folder: str, name: str) -> tuple[Any, ...]:
    """Return a configuration as hydra composes it: the files of its ``defaults`` list, and itself on top.

    It is the one content of a :class:`Settings`, with ``UNKNOWN_VALUE`` beside it where one of the files is not read.
    """
    held = read_settings(os.path.join(folder, name if name.endswith((".yaml", ".yml")) else name + ".yaml"))
    if not isinstance(held, dict):
        return (UNKNOWN_VALUE,) if held is UNKNOWN_VALUE else ()
    whole: dict[Any, Any] = {}
    unread = False
    entries = held.get("defaults")
    for entry in entries if isinstance(entries, list) else ():
        pairs = entry.items() if isinstance(entry, dict) else [("", entry)] if isinstance(entry, str) else []
        for group, chosen in pairs:
            if isinstance(group, str) and isinstance(chosen, str) and "@" not in f"{group}{chosen}":
                path = f"{group.removeprefix('override ').removeprefix('optional ')}/{chosen}"
                unread = not _take(whole, folder, [part for part in path.split("/") if part]) or unread
    _merge(whole, {key: value for key, value in held.items() if key != "defaults"})
    return (whole, UNKNOWN_VALUE) if unread else (whole,)


def _take(whole: dict[Any, Any], folder: str, path: list[str]) -> bool:
    """Add what a file of the ``defaults`` list holds; return whether it was read."""
    if path[-1:] == ["_self_"] or not path:
        return True
    part = read_settings(os.path.join(folder, *path) + ".yaml")
    if isinstance(part, dict):
        for key in reversed(path[:-1]):
            part = {key: part}
        _merge(whole, part)
    return part is not UNKNOWN_VALUE


def _merge(whole: dict[Any, Any], part: dict[Any, Any]) -> None:
    """Put one mapping over another; the part stays as it is: the files are kept as they were read."""
    for key, value in part.items():
        whole[key] = _over(whole.get(key), value) if isinstance(value, dict) else value


def _over(under: Any, value: dict[Any, Any]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for layer in (under, value):
        if isinstance(layer, dict):
            _merge(merged, layer)
    return merged

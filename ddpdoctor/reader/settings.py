"""Configurations that files hold: values that the user gives, and what the project's own files say of them."""

import os
import re
from collections.abc import Iterator
from typing import Any

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import Abstract, Cells, Items, Known, Opaque, Table
from ddpdoctor.reader.names import RANK_NAMES, hinted
from ddpdoctor.reader.project import Project
from ddpdoctor.reader.yaml_text import UNKNOWN, load_yaml
from ddpdoctor.world import RANK_LEAVES

CONFIGURATION = frozenset({"configuration"})


class Setting(Opaque):
    """A value that a configuration file has: each experiment has a file of its own, and another value.

    ``type`` is what the values of all files that there are are of, ``None`` where they differ in it.
    """

    __slots__ = ("type",)

    def __init__(self, name: str, values: list[Any], default: Abstract | None) -> None:
        super().__init__(name, CONFIGURATION, origin="configuration", default=default)
        types = {type(value) for value in values}
        self.type = types.pop() if len(types) == 1 and UNKNOWN not in values else None


class Settings(Opaque):
    """A configuration, or a part of one: ``contents`` are what the files that it can come from hold there.

    Where they all say the same, that is the default; what a user's own file says is not known. ``certain`` when an
    option names the one file by default.
    """

    __slots__ = ("certain", "contents", "sections")

    def __init__(self, name: str, contents: tuple[Any, ...], *, certain: bool) -> None:
        super().__init__(name, CONFIGURATION, origin="configuration")
        self.sections: dict[object, Settings | Items] = {}  # as they are given out: what the program sets in one stays
        self.contents = contents
        self.certain = certain

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
        if all(isinstance(value, dict) for value in values):
            self.sections[key] = Settings(name, tuple(values), certain=self.certain)
        elif all(isinstance(value, list) and any(isinstance(one, dict) for one in value) for value in values):
            self.sections[key] = self._listed(values, name)
        else:
            return self._single(key, values, name)
        return self.sections[key]

    def _listed(self, values: list[Any], name: str) -> Items:
        """Return a list that has sections in it: each file's first item, its second, as far as all of them have one."""
        rows = list(zip(*values, strict=False))
        longer = any(len(value) > len(rows) for value in values) or not self.certain
        whole = Settings(name, tuple(dict(enumerate(value)) for value in values), certain=self.certain)
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
        return Items([Known(item) for item in value]) if not any(isinstance(x, (dict, list)) for x in value) else None
    return None if value is UNKNOWN else Known(value)


MAX_FILES = 40
MAX_BYTES = 100_000
FOLDERS = ("conf", "cfg", "option", "opt", "exp", "hparam", "param", "yaml", "json", "setting")
"""How the names of folders begin that hold configurations."""
ENDINGS = {"json": (".json",), "yaml": (".yaml", ".yml")}


def settings_of(project: Project, path: object, kind: str, name: str) -> Settings:
    """Return the configuration in a file: that of a path, or, where it is not known, in any of the project's."""
    if isinstance(path, str) and path:
        for root in (project.directory, *project.roots):
            content = read_file(os.path.join(root, path))
            if isinstance(content, dict):
                return Settings(name, (content,), certain=True)
    found = (read_file(file) for file in _files(project, kind))
    return Settings(name, tuple(one for one in found if isinstance(one, dict)), certain=False)


def _files(project: Project, kind: str) -> list[str]:
    """Return the configuration files beside a script, and in folders named for them, beside it or at the top."""
    found: dict[str, None] = {}
    for folder in dict.fromkeys((os.path.dirname(project.script), project.directory)):
        names = _names_in(folder)
        if folder == os.path.dirname(project.script):
            found.update(dict.fromkeys(os.path.join(folder, name) for name in names if name.endswith(ENDINGS[kind])))
        for name in names:
            if name.lower().startswith(FOLDERS):
                found.update(dict.fromkeys(_below(os.path.join(folder, name), kind, DEPTH)))
    return list(found)[:MAX_FILES]


def _below(folder: str, kind: str, depth: int) -> Iterator[str]:
    names = _names_in(folder)
    yield from (os.path.join(folder, name) for name in names if name.endswith(ENDINGS[kind]))
    if depth:
        for name in names:
            yield from _below(os.path.join(folder, name), kind, depth - 1)


DEPTH = 2
"""How deep folders of configurations hold others: ``options/train/denoising/small.yml``."""


def _names_in(folder: str) -> list[str]:
    """Return the names in a folder, none where it is none or holds more than any folder of configurations."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return names if len(names) < MAX_NAMES else []


MAX_NAMES = 400


def read_file(file: str) -> Any:
    """Return the content of a JSON or YAML file, ``None`` where it cannot be read."""
    try:
        if os.path.getsize(file) > MAX_BYTES:
            return None
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        if file.endswith(ENDINGS["json"]):
            return _load_json(text)
        return load_yaml(text)
    except (OSError, ValueError, RecursionError):
        return None


def _load_json(text: str) -> Any:
    """Return what a JSON file holds, also one with comments, which its program takes out."""
    import json  # only here: few scripts need it

    try:
        return json.loads(text)
    except ValueError:
        return json.loads(re.sub(COMMENT_OR_TEXT, lambda found: found[1] or "", text))


COMMENT_OR_TEXT = r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/'


def composed(folder: str, name: str) -> Any:
    """Return a configuration as hydra composes it: the files of its ``defaults`` list, and itself on top."""
    content = read_file(os.path.join(folder, name if name.endswith((".yaml", ".yml")) else name + ".yaml"))
    if not isinstance(content, dict):
        return content
    whole: dict[Any, Any] = {}
    for entry in content.get("defaults") or ():
        pairs = entry.items() if isinstance(entry, dict) else [("", entry)] if isinstance(entry, str) else []
        for group, chosen in pairs:
            if isinstance(group, str) and isinstance(chosen, str) and "@" not in f"{group}{chosen}":
                _take(whole, folder, group.removeprefix("override ").removeprefix("optional "), chosen)
    _merge(whole, {key: value for key, value in content.items() if key != "defaults"})
    return whole


def _take(whole: dict[Any, Any], folder: str, group: str, chosen: str) -> None:
    if chosen == "_self_":
        return
    path = [part for part in f"{group}/{chosen}".split("/") if part]
    part = read_file(os.path.join(folder, *path) + ".yaml")
    if isinstance(part, dict):
        for key in reversed(path[:-1]):
            part = {key: part}
        _merge(whole, part)


def _merge(whole: dict[Any, Any], part: dict[Any, Any]) -> None:
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            _merge(whole[key], value)
        else:
            whole[key] = value

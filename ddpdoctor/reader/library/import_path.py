"""``sys.path``: folders in which a program has its own modules looked for, by where its files lie."""

import os
import re
import sys

from ddpdoctor.atom import ALWAYS
from ddpdoctor.reader.abstract import NONE, Abstract, Attribute, Items, Known, Opaque, known, options
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.constants import NO_RESULT, computed
from ddpdoctor.reader.texts import text
from ddpdoctor.reader.walk import Walk

FOLDER = "the folder that it is"
"""The hidden attribute of a path that was made of a file's own: where that is on this machine."""


def _folder_of(walk: Walk, call: Call) -> Abstract | None:
    """``os.path.dirname(__file__)``: known by its name alone, as it is another on each machine."""
    path = call.argument("p", 0)
    where = _location(path) if path is not None else None
    if where is None or path is None:
        return None
    return _folder(f"os.path.dirname({_named(path)})", os.path.dirname(where))


def _named(path: Abstract) -> str:
    return os.path.basename(str(path.value)) if isinstance(path, Known) else text(path)


def _folder(name: str, where: str) -> Opaque:
    folder = Opaque(name)
    folder.attributes[FOLDER] = [(ALWAYS, Known(where))]
    return folder


def _same_path(walk: Walk, call: Call) -> Abstract | None:
    """``os.path.realpath(path)``, ``Path(path).resolve()``: the same place."""
    path = call.receiver if call.receiver is not None else call.argument("path", 0)
    if path is None or _location(path) is not None:
        return path
    return _relative(walk, call, path)


def absolute(walk: Walk, call: Call) -> Abstract | None:
    """``os.path.abspath(path)``: the path as it is written, but for the folder that a program runs in."""
    path = call.argument("path", 0)
    return None if path is None else _relative(walk, call, path) or path


def _relative(walk: Walk, call: Call, path: Abstract) -> Abstract | None:
    """Return the folder that ``.`` is, or ``..``: of where the program runs, which is the script's if that is above."""
    given = known(path)
    if not isinstance(given, str) or not DOTS.fullmatch(given):
        return None
    base = os.path.dirname(walk.project.script) if given.startswith("..") else walk.project.directory
    return _folder(f"{call.path}({given!r})", os.path.normpath(os.path.join(base, given)))


DOTS = re.compile(r"\.{1,2}(/\.{1,2})*/?")
"""``.``, ``..`` and ``../..``."""


def of_folder(walk: Walk, call: Call) -> Abstract | None:
    """Methods of the text that a folder is: ``path.index("project")``, ``path.rsplit("/", 1)``."""
    whole, name = call.receiver, call.path.rpartition(".")[2]
    where = _location(whole) if isinstance(whole, Opaque) else None
    if whole is None or where is None or not all(isinstance(arg, Known) for arg in call.args) or call.kwargs:
        return None
    result = computed(getattr(str, name), where, *(known(arg) for arg in call.args))
    if isinstance(result, (list, tuple)):
        return Items([_part_of(f"{text(whole)}.{name}()[{i}]", part) for i, part in enumerate(result)])
    return None if result is NO_RESULT else _part_of(f"{text(whole)}.{name}()", result)


def _part_of(name: str, part: object) -> Abstract:
    return _folder(name, part) if isinstance(part, str) and os.path.isabs(part) else Known(part)


def cut_folder(path: Abstract, key: Abstract) -> Abstract | None:
    """Return ``path[:n]``, where that is the text of a folder."""
    part = known(key)
    if not isinstance(path, Opaque) or not isinstance(part, slice):
        return None
    where = _location(path)
    return None if where is None else _part_of(f"{text(path)}[{text(key)}]", where[part])


def _working_folder(walk: Walk, call: Call) -> Abstract:
    return _folder("os.getcwd()", walk.project.directory)


def _location(path: Abstract) -> str | None:
    """Return the absolute path that a value is, where it is made of a file's own or the working directory."""
    if isinstance(path, Known):
        return path.value if isinstance(path.value, str) and os.path.isabs(path.value) else None
    if isinstance(path, Attribute) and path.name == "parent":
        inner = _location(path.receiver)
        return None if inner is None else os.path.dirname(inner)
    if not isinstance(path, Opaque):
        return None
    if FOLDER in path.attributes:
        return str(known(path.attributes[FOLDER][0][1]))
    first = _location(path.parts[0]) if path.parts else None
    rest = [known(part) for part in path.parts[1:]]
    return None if first is None or not all(isinstance(part, str) for part in rest) else first + "".join(map(str, rest))


def _put_on_path(walk: Walk, call: Call) -> Abstract:
    """``sys.path.append(folder)``, ``sys.path.insert(0, folder)``: modules are looked for there too, after all others.

    A relative folder is meant from the working directory, which is often the script's.
    """
    given = call.argument("object", 0 if call.path.endswith("append") else 1)
    folders = given.items if isinstance(given, Items) else [given or NONE]
    for folder in (option for one in folders for _, option in options(one)):
        where, relative = _location(folder), known(folder)
        places = [where] if where is not None else []
        if where is None and isinstance(relative, str) and relative:
            places = [
                os.path.join(base, relative) for base in (os.path.dirname(walk.project.script), walk.project.directory)
            ]
        for place in map(os.path.normpath, places):
            if os.path.isdir(place) and not place.startswith(sys.prefix):
                walk.project.look_in(place)
    return NONE


FUNCTIONS = {
    "os.path.abspath": absolute,
    "os.path.dirname": _folder_of,
    "os.path.realpath": _same_path,
    "os.path.normpath": _same_path,
    "os.getcwd": _working_folder,
    **dict.fromkeys(("sys.path.append", "sys.path.insert"), _put_on_path),
}
METHODS = {
    **dict.fromkeys(("resolve", "absolute"), _same_path),
    **dict.fromkeys(("index", "find", "rindex", "rfind"), of_folder),
}

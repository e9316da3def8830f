"""Containment by a throw-away copy: the run gets copies of its folders, and may write nowhere else.

For where namespaces are refused. On Linux Landlock and a seccomp filter hold the run to the copy, on macOS the
sandbox does (untested).
"""

import os
import sys
from collections.abc import Mapping, Sequence

from ddpdoctor.harness.contain.mirror import mirror, shallow
from ddpdoctor.harness.contain.shared_memory import FOLDER as SHARED_MEMORY
from ddpdoctor.named import NamedTuple

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/kfd", "/dev/dri", "/dev/infiniband")
"""The devices that a run may write to, with those whose names begin with ``nvidia``."""

HOME_DEEPER = frozenset({".cache", ".config", ".local"})
"""The folders of a home that take new entries in the copy."""

TRANSLATED_VARIABLES = ("PYTHONPATH", "PWD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Environment variables whose folders are meant to be written to or imported from."""


class Copy(NamedTuple):
    """The folders of a copied run: each place in the copy with the original that it stands for, inner ones first."""

    places: tuple[tuple[str, str], ...]
    linked: tuple[str, ...]  # what was linked instead of copied, as the user's absolute paths

    def inside(self, path: str) -> str:
        """Return where a path of the user's is in the copy; the path itself when it is not there."""
        for place, original in self.places:
            if path == original or path.startswith(original.rstrip("/") + "/"):
                return place + path[len(original.rstrip("/")) :]
        return path

    def argument(self, text: str) -> str:
        """Return a command-line argument with a path of the user's, also after ``=``, as it is in the copy."""
        option, equals, value = text.partition("=")
        if equals and option.startswith("-"):
            return f"{option}={self.inside(value)}"
        return self.inside(text)

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a run in the copy."""
        changed = dict(variables)
        for name in TRANSLATED_VARIABLES:
            if name in changed:
                changed[name] = os.pathsep.join(self.inside(path) for path in changed[name].split(os.pathsep))
        return changed


def prepare(scratch: str, root: str, directory: str, home: str, temporary: str) -> Copy:
    """Copy the project and, where it lies elsewhere, the working directory; make a home and a temporary folder.

    Raises OSError when the project cannot be read.
    """
    place = os.path.join(scratch, "project", os.path.basename(root) or "root")
    os.mkdir(os.path.dirname(place))
    places = [(place, root)]
    linked = [os.path.join(root, name) for name in mirror(root, place).linked]
    own_home = os.path.join(scratch, "home")
    shallow(home, own_home, HOME_DEEPER)
    os.mkdir(os.path.join(scratch, "temporary"))
    others = [(own_home, home), (os.path.join(scratch, "temporary"), temporary)]
    if not _within(directory, root) and directory not in (home, temporary):
        there = os.path.join(scratch, "directory")
        if directory == "/":
            shallow(directory, there, frozenset())
        else:
            linked += [os.path.join(directory, name) for name in mirror(directory, there).linked]
        others.append((there, directory))
    # The longest original first: a project inside the home is found in its own copy.
    places += others
    places.sort(key=lambda pair: len(pair[1]), reverse=True)
    return Copy(tuple(places), tuple(linked))


def hold_to(run_folder: str) -> None:
    """Let this process, and all that it starts, write to the run's folder alone (Linux).

    Raises OSError when the kernel cannot do that.
    """
    from ddpdoctor.harness.contain import kernel, landlock, metadata

    devices = [*DEVICES, *(f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia"))]
    kernel.drop_capabilities()
    landlock.restrict([run_folder], devices, [SHARED_MEMORY])
    metadata.freeze(truncate_too=not landlock.sees_truncate())


def command_in_sandbox(command: Sequence[str], run_folder: str) -> Sequence[str]:
    """Return a command as macOS's sandbox-exec runs it, writing to the run's folder alone (untested)."""
    if sys.platform != "darwin":
        return command
    quoted = os.path.realpath(run_folder).replace("\\", "\\\\").replace('"', '\\"')
    profile = (
        "(version 1)(allow default)(deny file-write*)"
        f'(allow file-write* (subpath "{quoted}") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))'
    )
    return ["/usr/bin/sandbox-exec", "-p", profile, *command]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")

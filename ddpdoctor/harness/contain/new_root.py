"""Builds the root directory that a contained run sees: every folder of the machine, copy-on-write in memory.

An overlay cannot be laid over ``/`` itself, and in a user namespace not over any folder that holds a mount point
(the kernel refuses to show what a locked mount hides). So each folder gets an overlay of its own, mounts inside it get
theirs on top, and a folder that refuses because of a mount inside is rebuilt entry by entry.
"""

import contextlib
import os
import shutil
import stat

from ddpdoctor.harness.contain import kernel
from ddpdoctor.harness.contain.mounts import Mounts

DEVICES = ("null", "zero", "full", "random", "urandom", "kfd", "dri", "infiniband", "fuse")
"""The devices beneath /dev that a run sees, with all whose names begin with ``nvidia``; no disks and no terminals."""

REBUILT_ENTRIES = 4096
"""A folder with more entries is not rebuilt entry by entry: it is shown read-only."""

REBUILT_FILE = 1 << 20
"""In a rebuilt folder a file of up to so many bytes is copied and can be written; a bigger one is shown read-only."""


class NewRoot:
    """The root directory of a contained run, beneath ``memory``, a tmpfs that bounds all that the run writes.

    ``read_only`` collects the folders that could not be made copy-on-write and are shown read-only.
    """

    def __init__(self, memory: str, *, rootless: bool) -> None:
        self.path = f"{memory}/new"
        self.read_only: list[str] = []
        self._memory = memory
        self._rootless = rootless
        self._mounts = Mounts.here()
        self._layers = 0
        for folder in ("new", "upper", "work"):
            os.mkdir(f"{memory}/{folder}")
        kernel.bind(self.path, self.path)

    def fill(self, run_folder: str) -> None:
        """Lay the machine's folders into the new root, and the run's folder as it is.

        Raises OSError when the kernel refuses a part that a run cannot do without.
        """
        for name in sorted(os.listdir("/")):
            if name not in ("proc", "dev"):
                self._lay(f"/{name}")
        self._lay_devices()
        os.mkdir(f"{self.path}/proc")
        kernel.mount("proc", f"{self.path}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV)
        kernel.bind(f"{self.path}/proc/sys", f"{self.path}/proc/sys", read_only=True)
        os.makedirs(f"{self.path}{run_folder}", exist_ok=True)
        kernel.bind(run_folder, f"{self.path}{run_folder}")

    def enter(self) -> None:
        """Make this the root directory of the mount namespace and let go of the old one."""
        old = f"{self.path}/.old"
        os.mkdir(old)
        kernel.pivot_root(self.path, old)

    def shows_read_only(self, path: str) -> bool:
        """Whether a path lies in a folder that could not be made copy-on-write."""
        return any(path == folder or path.startswith(f"{folder}/") for folder in self.read_only)

    def _lay(self, path: str) -> None:
        target = self.path + path
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(path), target)
        elif stat.S_ISDIR(mode):
            os.mkdir(target)
            self._lay_folder(path)
        else:
            self._lay_file(path)

    def _lay_folder(self, path: str) -> None:
        """Show a folder at its place, which exists."""
        target = self.path + path
        inside = tuple(self._mounts.inside(path))
        try:
            if self._mounts.is_pseudo(path):
                kernel.bind(path, target, read_only=True, recursive=True)
                return
            self._overlay(path, target)
        except OSError:
            if inside and not self._mounts.is_pseudo(path) and self._rebuild(path):
                return
            kernel.bind(path, target, read_only=True, recursive=True)
            self.read_only.append(path)
            return
        for point in inside:
            if os.path.isdir(self.path + point):
                self._lay_folder(point)
            elif os.path.exists(self.path + point):
                kernel.bind(point, self.path + point, read_only=True)

    def _overlay(self, path: str, target: str) -> None:
        self._layers += 1
        upper, work = (f"{self._memory}/{kind}/{self._layers}" for kind in ("upper", "work"))
        os.mkdir(upper)
        os.mkdir(work)
        _take_on(path, upper)
        # A path may hold the commas and colons that separate options: the kernel is given a descriptor's name.
        lower = os.open(path, os.O_PATH | os.O_DIRECTORY)
        try:
            # Only a privileged mount can remember that a folder was renamed; in a user namespace renaming a folder
            # of the user's answers EXDEV, as between two filesystems.
            kind = "userxattr" if self._rootless else "redirect_dir=on"
            options = f"lowerdir=/proc/self/fd/{lower},upperdir={upper},workdir={work},{kind}"
            kernel.mount("overlay", target, "overlay", options=options)
        finally:
            os.close(lower)

    def _rebuild(self, path: str) -> bool:
        """Show a folder that holds mount points entry by entry; false when that cannot be done."""
        try:
            names = os.listdir(path)
        except OSError:
            return False
        if len(names) > REBUILT_ENTRIES:
            return False
        _take_on(path, self.path + path)
        for name in names:
            self._lay(f"{path}/{name}")
        return True

    def _lay_file(self, path: str) -> None:
        """Show what is neither a folder nor a link."""
        target = self.path + path
        mode = os.lstat(path)
        if stat.S_ISREG(mode.st_mode) and mode.st_size <= REBUILT_FILE and path not in self._mounts.types:
            try:
                shutil.copy2(path, target)
            except OSError:
                pass  # not ours to read: shown as it is
            else:
                return
        with open(target, "ab"):
            pass
        try:
            kernel.bind(path, target, read_only=True)
        except OSError:
            os.unlink(target)

    def _lay_devices(self) -> None:
        """Make a /dev with what a training run needs, and shared memory and semaphores of its own."""
        target = f"{self.path}/dev"
        os.mkdir(target)
        for name in os.listdir("/dev"):
            if name not in DEVICES and not name.startswith("nvidia"):
                continue
            path = f"/dev/{name}"
            if os.path.isdir(path):
                os.mkdir(f"{target}/{name}")
            else:
                with open(f"{target}/{name}", "wb"):
                    pass
            kernel.bind(path, f"{target}/{name}", recursive=True)
        for name, to in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            os.symlink(f"/proc/self/fd{to}", f"{target}/{name}")
        os.mkdir(f"{target}/shm")
        os.chmod(f"{target}/shm", 0o1777)


def _take_on(path: str, target: str) -> None:
    """Give a folder the mode, the times and, where this process may, the owner of another."""
    seen = os.stat(path)
    with contextlib.suppress(OSError):  # an owner that the user namespace does not know
        os.chown(target, seen.st_uid, seen.st_gid)
    os.chmod(target, stat.S_IMODE(seen.st_mode))
    os.utime(target, ns=(seen.st_atime_ns, seen.st_mtime_ns))

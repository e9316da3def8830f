"""Containment by namespaces (Linux): the run sees every folder copy-on-write, no network, and only its own processes.

Everything that the run writes goes to a tmpfs of bounded size that exists in the run's mount namespace alone: when the
last process of the run is gone, so is all of it. The namespaces are made as root where this process is root, and in a
user namespace else (and when ``rootless``): there the kernel must let users make namespaces, and lay overlays (5.11).
"""

import fcntl
import os
import socket
import struct
from collections.abc import Callable

from ddpdoctor.harness.contain import kernel
from ddpdoctor.harness.contain.forking import Answer, fork_until_ready, run_and_exit
from ddpdoctor.harness.contain.new_root import NewRoot

NAMESPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNET

CAP_SYS_ADMIN = 21

MOST_LOOKED_AT = 20_000
"""Looking at so many files takes a fifth of a second."""

_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def may_as_root() -> bool:
    """Whether this process can make the namespaces without a user namespace."""
    with open("/proc/self/status", encoding="ascii") as file:
        effective = next(line for line in file if line.startswith("CapEff:"))
    return os.geteuid() == 0 and bool(int(effective.split()[1], 16) >> CAP_SYS_ADMIN & 1)


def separate(*, rootless: bool) -> None:
    """Move this process's children to come into namespaces of their own, and this process too but for the processes'.

    Raises OSError when the kernel, or the container that this runs in, refuses.
    """
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(NAMESPACES | (kernel.CLONE_NEWUSER if rootless else 0))
    if rootless:
        _write("/proc/self/setgroups", "deny")  # what the kernel asks for before a user may map a group
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)


def expect_own_files(folder: str) -> None:
    """Raise OSError when the user may write files in a folder that an overlay of a user namespace cannot copy.

    The namespace knows the user and their first group alone; what belongs to another user or group the kernel refuses
    to copy up (EOVERFLOW). Only the first ``MOST_LOOKED_AT`` files are looked at.
    """
    user, group = os.geteuid(), os.getegid()
    looked_at, pending = 0, [folder]
    while pending and looked_at < MOST_LOOKED_AT:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue  # what cannot be listed is not written to either
        for entry in entries:
            looked_at += 1
            status = entry.stat(follow_symlinks=False)
            if (status.st_uid, status.st_gid) != (user, group) and os.access(entry.path, os.W_OK):
                raise OSError(f"{entry.path} belongs to another user or group, and cannot be written in an overlay")
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)


def enter(run_folder: str, size: int, needed: tuple[str, ...], *, rootless: bool) -> None:
    """Change this process, the first of its namespaces, over to the copy-on-write view of the machine.

    ``size`` bounds in bytes what the run may write. Raises OSError when the kernel refuses something, or one of the
    folders ``needed`` could only be shown read-only though the user may write there.
    """
    memory = f"{run_folder}/scratch"
    kernel.mount("tmpfs", memory, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size={size},mode=755")
    writable = [path for path in needed if os.access(path, os.W_OK)]
    if rootless:
        _check_attributes(memory)
    root = NewRoot(memory, rootless=rootless)
    root.fill(run_folder)
    for path in writable:
        if root.shows_read_only(os.path.realpath(path)):
            raise OSError(f"{path} is on a filesystem that cannot be the lower layer of an overlay")
    root.enter()
    _raise_loopback()
    kernel.drop_capabilities()


def fork_into_namespaces(first: Callable[[Answer], None], *, rootless: bool) -> None:
    """Start ``first`` as the first process of namespaces of its own, and return when it answers that it is ready.

    It, and with it every process of its namespaces, ends with the caller. Raises OSError as :func:`separate` and
    ``first`` do.
    """

    def make(answer: Answer) -> None:
        separate(rootless=rootless)
        number = os.fork()
        if number == 0:
            run_and_exit(first, answer)
        os.waitpid(number, 0)  # this process stays: what ends it ends the first process of the namespaces

    fork_until_ready(make)


def _check_attributes(memory: str) -> None:
    """Raise OSError when the tmpfs cannot hold what an overlay of a user namespace notes of removed folders.

    Linux 6.6 and newer can; before, a folder that was removed could not be made again.
    """
    try:
        os.setxattr(memory, "user.overlay", b"")
    except OSError as error:
        raise OSError(error.errno, "this kernel's tmpfs keeps no user attributes (Linux 6.6 does)") from None


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None  # a failed write does not name its file

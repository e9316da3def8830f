"""The Linux system calls that containment needs and Python's ``os`` does not have, with OSError for what fails."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MOUNT_SETATTR = 442  # numbers from 424 on are the same on every architecture
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446

_MNT_DETACH = 2
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 0x1

_KEPT_CAPABILITIES = frozenset(
    {
        0,  # CHOWN
        1,  # DAC_OVERRIDE
        2,  # DAC_READ_SEARCH
        3,  # FOWNER
        4,  # FSETID
        5,  # KILL
        6,  # SETGID
        7,  # SETUID
        10,  # NET_BIND_SERVICE
        14,  # IPC_LOCK: pinned memory
        23,  # SYS_NICE
    }
)
"""What a script that runs as root may need; not what undoes the containment (SYS_ADMIN, SYS_CHROOT, MKNOD …)."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def call(number: int, *arguments: object) -> int:
    """Make a system call by its number and return its result."""
    return _checked(_LIBC.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def prctl(option: int, *values: object) -> int:
    """Set an attribute of this process; the values are passed as longs or pointers."""
    given = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in values]
    given += [ctypes.c_ulong(0)] * (4 - len(given))
    return _checked(_LIBC.prctl(ctypes.c_int(option), *given), f"prctl {option}")


def unshare(flags: int) -> None:
    """Move this process (for processes: its children to come) into new namespaces."""
    _checked(_LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """Mount a filesystem or, with MS_BIND, a path at another."""
    result = _LIBC.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    _checked(result, f"mount {kind or 'bind'}", target)


def bind(source: str, target: str, *, read_only: bool = False, recursive: bool = False) -> None:
    """Make a path appear at another, without the mounts beneath it unless ``recursive``."""
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))
    if read_only:
        attributes = _MountAttributes(_MOUNT_ATTR_RDONLY, 0, 0, 0)
        flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        call(MOUNT_SETATTR, ctypes.c_int(_AT_FDCWD), os.fsencode(target), flags, ctypes.byref(attributes), size)


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root of this mount namespace, and detach what was the root before; ``old`` lies in ``new``."""
    _checked(_LIBC.pivot_root(os.fsencode(new), os.fsencode(old)), "pivot_root", new)
    os.chdir("/")
    inside = "/" + os.path.relpath(old, new)
    _checked(_LIBC.umount2(os.fsencode(inside), ctypes.c_int(_MNT_DETACH)), "umount", inside)
    os.rmdir(inside)


def drop_capabilities() -> None:
    """See to it that a program started from here cannot undo the containment, as root neither."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(64):
        if capability in _KEPT_CAPABILITIES:
            continue
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            return  # no such capability, or none to drop: this process is not privileged


def _checked(result: int, what: str, path: str | None = None) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}", path)
    return int(result)

"""Containment of a process and all that it starts by Landlock (Linux 5.13): writing only beneath some folders.

Landlock cannot keep a process from changing modes, owners, times and attributes of its user's files: see
:mod:`ddpdoctor.harness.contain.metadata` for those. Up to ABI 2 (Linux 6.1) it does not see truncate(2) either.
"""

import ctypes
import os
from collections.abc import Iterable

from ddpdoctor.harness.contain import kernel

# The rights of linux/landlock.h, by the ABI that brought them.
WRITE_FILE = 1 << 1
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_ANY = sum(1 << bit for bit in range(6, 13))  # char device, folder, file, socket, fifo, block device, link
MAKE_REG = 1 << 8
REFER = 1 << 13  # ABI 2: moving a file to another folder
TRUNCATE = 1 << 14  # ABI 3
IOCTL_DEVICE = 1 << 15  # ABI 5

_ABI_2 = 2
_ABI_3 = 3
_ABI_5 = 5
_ABI_6 = 6
_SCOPED = 0b11  # ABI 6: abstract sockets and signals reach only into the same domain
_GET_VERSION = 1
_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # what packing means; Python 3.14 wants it said
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Return the kernel's Landlock ABI, 0 when it has none."""
    try:
        return kernel.call(kernel.LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_GET_VERSION))
    except OSError:
        return 0


def sees_truncate() -> bool:
    """Whether the kernel's Landlock holds back truncate(2) by path."""
    return version() >= _ABI_3


def restrict(folders: Iterable[str], devices: Iterable[str], shared: Iterable[str]) -> None:
    """Let this process, and all that it starts, write beneath ``folders`` alone.

    ``devices`` may be written and controlled; beneath ``shared`` files may be made, written and removed. Raises OSError
    when the kernel refuses.
    """
    abi = version()
    handled = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_ANY
    handled |= (REFER if abi >= _ABI_2 else 0) | (TRUNCATE if abi >= _ABI_3 else 0)
    handled |= IOCTL_DEVICE if abi >= _ABI_5 else 0
    rules = _Ruleset(handled, 0, _SCOPED if abi >= _ABI_6 else 0)
    size = 24 if abi >= _ABI_6 else 8
    ruleset = kernel.call(
        kernel.LANDLOCK_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0)
    )
    try:
        for path in folders:
            _allow(ruleset, path, handled)
        for path in devices:
            _allow(ruleset, path, handled & (WRITE_FILE | TRUNCATE | IOCTL_DEVICE))
        for path in shared:
            _allow(ruleset, path, handled & (WRITE_FILE | MAKE_REG | REMOVE_FILE | TRUNCATE))
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.call(kernel.LANDLOCK_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        rule = _PathBeneath(rights, parent)
        kernel.call(
            kernel.LANDLOCK_ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint32(0),
        )
    finally:
        os.close(parent)

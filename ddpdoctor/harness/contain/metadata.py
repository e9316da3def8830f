"""Makes the system calls that change a file's mode, owner, times and attributes do nothing, and say that they did.

Landlock leaves these calls alone, and a seccomp filter cannot see which file they are for. So they answer success and
do nothing, in the throw-away copy too: there a training script hardly sees the difference, and the user's files stay as
they are.
"""

import ctypes
import errno
import platform
import sys

from ddpdoctor.harness.contain import kernel

_RETURN_ERRNO = 0x00050000  # the call is not made and fails with the number in the low bits: success for 0
_RETURN_ALLOW = 0x7FFF0000
_MODE_FILTER = 2

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_OFFSET_NUMBER = 0  # in struct seccomp_data
_OFFSET_ARCHITECTURE = 4

_FCHMODAT2, _SETXATTRAT, _REMOVEXATTRAT = 452, 463, 466

_X86_64 = 0xC000003E
_AARCH64 = 0xC00000B7

CALLS: dict[str, tuple[int, frozenset[int], int]] = {
    "x86_64": (
        _X86_64,
        frozenset(
            {
                *(90, 91, 268, _FCHMODAT2),  # chmod, fchmod, fchmodat
                *(92, 93, 94, 260),  # chown, fchown, lchown, fchownat
                *(132, 235, 261, 280),  # utime, utimes, futimesat, utimensat
                *(188, 189, 190, _SETXATTRAT),  # setxattr, lsetxattr, fsetxattr
                *(197, 198, 199, _REMOVEXATTRAT),  # removexattr, lremovexattr, fremovexattr
            }
        ),
        76,
    ),
    "aarch64": (
        _AARCH64,
        frozenset(
            {
                *(52, 53, _FCHMODAT2),  # fchmod, fchmodat
                *(54, 55),  # fchownat, fchown
                88,  # utimensat
                *(5, 6, 7, _SETXATTRAT),
                *(14, 15, 16, _REMOVEXATTRAT),
            }
        ),
        45,
    ),
}
"""By machine: how the kernel names the architecture (linux/audit.h), the calls that do nothing, and truncate."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def known() -> bool:
    """Whether the system calls of this machine are known."""
    return platform.machine() in CALLS and sys.maxsize > 1 << 32


def freeze(*, truncate_too: bool) -> None:
    """Make the calls of this process, and of all that it starts, do nothing.

    With ``truncate_too`` truncate(2) by path is refused, for kernels whose Landlock does not see it. Raises OSError
    when the kernel has no seccomp filters, or the machine is not known.
    """
    if not known():
        raise OSError(errno.ENOSYS, f"the system calls of {platform.machine()} are not known")
    architecture, calls, truncate = CALLS[platform.machine()]
    answers = dict.fromkeys(sorted(calls), _RETURN_ERRNO)
    if truncate_too:
        answers[truncate] = _RETURN_ERRNO | errno.EACCES
    instructions = [
        _Instruction(_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        _Instruction(_JUMP_EQUAL, 1, 0, architecture),
        _Instruction(_RETURN, 0, 0, _RETURN_ALLOW),
        _Instruction(_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    for number, answer in answers.items():
        instructions.append(_Instruction(_JUMP_EQUAL, 0, 1, number))
        instructions.append(_Instruction(_RETURN, 0, 0, answer))
    instructions.append(_Instruction(_RETURN, 0, 0, _RETURN_ALLOW))
    array = (_Instruction * len(instructions))(*instructions)
    program = _Program(len(instructions), array)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))

"""Seccomp filters: system calls that a process, and all that it starts, does not make but gets an answer for."""

import ctypes
import errno
import platform
import sys
from collections.abc import Mapping

from ddpdoctor.harness.contain import kernel

ARCHITECTURES: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How the kernel names the machines whose system calls are known here (linux/audit.h)."""

SUCCEED = 0
"""The answer that a call which was not made succeeded; any other answer is an error number."""

_RETURN_ERRNO = 0x00050000
_RETURN_ALLOW = 0x7FFF0000
_MODE_FILTER = 2

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_OFFSET_NUMBER = 0  # in struct seccomp_data
_OFFSET_ARCHITECTURE = 4


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def answer(answers: Mapping[int, int]) -> None:
    """From now on answer the system calls by the given numbers with the given results instead of making them.

    Raises OSError when the kernel has no seccomp filters, or the machine's calls are not known.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES or sys.maxsize < 1 << 32:
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are not known")
    instructions = [
        _Instruction(_LOAD, 0, 0, _OFFSET_ARCHITECTURE),
        _Instruction(_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        _Instruction(_RETURN, 0, 0, _RETURN_ALLOW),  # a program for another architecture: none of its calls is meant
        _Instruction(_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    for number, result in answers.items():
        instructions.append(_Instruction(_JUMP_EQUAL, 0, 1, number))
        instructions.append(_Instruction(_RETURN, 0, 0, _RETURN_ERRNO | result))
    instructions.append(_Instruction(_RETURN, 0, 0, _RETURN_ALLOW))
    array = (_Instruction * len(instructions))(*instructions)
    program = _Program(len(instructions), array)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))

"""Makes the system calls that change a file's mode, owner, times and attributes do nothing, and say that they did.

Landlock leaves these calls alone, and a seccomp filter cannot see which file they are for. So they answer success and
do nothing, in the throw-away copy too: there a training script hardly sees the difference, and the user's files stay as
they are.
"""

import errno
import platform
from collections.abc import Mapping

from ddpdoctor.harness.contain import seccomp

_NEW = (452, 463, 466)  # fchmodat2, setxattrat, removexattrat: the same on every architecture

CALLS: Mapping[str, frozenset[int]] = {
    "x86_64": frozenset(
        {
            *(90, 91, 268),  # chmod, fchmod, fchmodat
            *(92, 93, 94, 260),  # chown, fchown, lchown, fchownat
            *(132, 235, 261, 280),  # utime, utimes, futimesat, utimensat
            *(188, 189, 190),  # setxattr, lsetxattr, fsetxattr
            *(197, 198, 199),  # removexattr, lremovexattr, fremovexattr
            *_NEW,
        }
    ),
    "aarch64": frozenset(
        {
            *(52, 53),  # fchmod, fchmodat
            *(54, 55),  # fchownat, fchown
            88,  # utimensat
            *(5, 6, 7),  # setxattr, lsetxattr, fsetxattr
            *(14, 15, 16),  # removexattr, lremovexattr, fremovexattr
            *_NEW,
        }
    ),
}
"""The numbers of the calls by machine."""

TRUNCATE: Mapping[str, int] = {"x86_64": 76, "aarch64": 45}


def freeze(*, truncate_too: bool) -> None:
    """Make the calls of this process, and of all that it starts, do nothing.

    With ``truncate_too`` truncate(2) by path is refused, for kernels whose Landlock does not see it. Raises OSError
    as :func:`seccomp.answer` does.
    """
    machine = platform.machine()
    answers = dict.fromkeys(sorted(CALLS.get(machine, ())), seccomp.SUCCEED)
    if truncate_too and machine in TRUNCATE:
        answers[TRUNCATE[machine]] = errno.EACCES
    seccomp.answer(answers)

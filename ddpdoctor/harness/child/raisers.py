"""Tells who raised an exception: a ``raise`` of the script's, a library or the system, or a rank that is gone."""

import re
from opcode import opmap
from types import TracebackType

from ddpdoctor.harness.child.frames import UserFrames

PEER_GONE = re.compile(
    r"[Cc]onnection closed by peer|[Cc]onnection reset by peer|[Bb]roken pipe|[Ss]ocket closed|"
    r"[Cc]onnection was likely closed|closed the connection|Timed out waiting \d+ms for \w+ operation|"
    r"Application timeout caused pair closure|remote process has exited|NCCL .*remote error|"
    r"wait timeout after|Read error .*(peer|reset)|writev .*(peer|reset|pipe)",
)
"""How gloo, the TCP store and NCCL say that another rank is gone."""

PEER_TYPES = frozenset(
    {
        "torch.multiprocessing.spawn.ProcessRaisedException",
        "torch.multiprocessing.spawn.ProcessExitedException",
        "threading.BrokenBarrierError",
    }
)
"""Exceptions that only pass on that a started process has failed."""

BETWEEN_RANKS = frozenset({"torch", "multiprocessing", __name__.partition(".")[0]})
"""The packages through which ranks talk to each other; calls of torch's may pass through a frame of ours."""

_RAISE = opmap["RAISE_VARARGS"]


def type_name(error: BaseException) -> str:
    """Return the dotted path of an exception's type, without the module for those that need none."""
    kind = type(error)
    bare = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if bare else f"{kind.__module__}.{kind.__qualname__}"


def says_that_a_peer_is_gone(error: BaseException, frames: UserFrames) -> bool:
    """Whether an exception only tells of another rank's end, be it in words of the script's own."""
    if type_name(error) in PEER_TYPES:
        return True
    foreign = foreign_cause(error, frames)
    return foreign is not None and PEER_GONE.search(str(foreign)) is not None and _is_between_ranks(foreign)


def foreign_cause(error: BaseException, frames: UserFrames) -> BaseException | None:
    """Return the exception that a library or the system raised: this one, or the one that the script raised it for.

    ``None`` when a ``raise`` or ``assert`` of the script's own began it.
    """
    current: BaseException | None = error
    while current is not None:
        innermost = _innermost(current)
        if innermost is None or not frames.is_user(innermost.tb_frame):
            return current
        if not _at_raise(innermost):
            return current if isinstance(current, (OSError, RuntimeError)) else None
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return None


def _is_between_ranks(error: BaseException) -> bool:
    """Whether an exception comes from what ranks talk through: its frames, or a function of C++ that has none."""
    innermost = _innermost(error)
    if innermost is None:
        return False
    package = str(innermost.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in BETWEEN_RANKS or (isinstance(error, RuntimeError) and not _at_raise(innermost))


def _innermost(error: BaseException) -> TracebackType | None:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _at_raise(traceback: TracebackType) -> bool:
    """Whether a frame raised by a statement, and not in a call of something that has no frame."""
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == _RAISE

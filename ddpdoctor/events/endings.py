"""What went wrong or was left out, on either side: failures, trials, cuts, and what was not followed."""

from ddpdoctor.atom import ALWAYS, Condition
from ddpdoctor.events.base import Event, Loop
from ddpdoctor.place import Place
from ddpdoctor.value import Ref


class Raised(Event):
    """O: an exception left the user's code on a rank (or a signal ended it). ``ours`` when the innermost frame is the
    tool's own: then it is never the user's fault. ``caused_by_peer`` when it only says that another rank is gone.
    ``foreign`` is the message of the exception that a library or the system raised, this one or the one that the script
    raised it for; ``None`` when the script began it with a ``raise`` of its own. ``missing`` is the module, file or
    argument that the script wanted. ``after_cut`` when it follows an epoch or a loop of which something was left out,
    so that it may have met what it never meets otherwise. ``status`` is the exit status where the script left with one
    that is not 0: ``type`` is then ``SystemExit``, ``os._exit`` or ``exit``, ``message`` what ``sys.exit`` was given.
    """

    type: str
    message: str
    ours: bool = False
    caused_by_peer: bool = False
    foreign: str | None = None
    missing: str | None = None
    after_cut: bool = False
    status: int | None = None


class LeftLoop(Event):
    """P: a loop is left before its end, ``how`` by ``break``, ``return``, a ``raise`` that is caught outside it, or the
    ``test`` of a ``while``; a round of it by ``continue``; or the program (``end``) by an exception or an exit.
    ``since`` is the condition under which the loop was begun: what ``when`` says beyond it decides the leaving;
    ``decided`` is the test on the rank in it.
    """

    how: str
    loop: Loop
    since: Condition = ALWAYS
    decided: Place | None = None


class Trial(Event):
    """O: what happened when an exception was raised on purpose, in a copy of the process, at an optimiser step."""

    what: str  # exception-at-step
    destroyed: bool
    finished: bool


class Warned(Event):
    """O: DDP warned of the strides of gradients, in these words."""

    text: str


class Unfollowed(Event):
    """P: a call that was not followed got objects that matter: what it does to them is not known.

    Without ``objects`` it is one that, by its name, may set up the process group.
    """

    call: str
    objects: tuple[Ref, ...] = ()


class Unparsed(Event):
    """P: a file does not parse: Python's ``message``, and the likely ``cause`` where one can be told.

    ``unread`` says that Python was not asked: the file is too large to be read.
    """

    message: str
    cause: str | None = None
    unread: bool = False


class Substituted(Event):
    """O: the harness put something in the place of what the script asked for: ``what`` was replaced by ``by``."""

    what: str
    by: str


class Cut(Event):
    """O: the harness ended a loop or a run early, or left something out, so that what follows was not observed."""

    what: str
    why: str

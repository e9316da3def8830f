"""The agreement between the parent, which starts and watches a run, and the children that it observes.

A run has a folder (mode 0700, beneath the system's temporary directory), the same path on both sides::

    plan.json             the Orders: the plan as the child sees it, and what the parent decided
    events/<pid>.jsonl    what a process did: one event a line (``codec.dumps``), flushed a line, in order; a line with
                          the ``order`` of an earlier one says more of the same event and takes its place
    indices/<pid>-<order>.bin
                          the indices of an EpochBegun event, where they are many: 8-byte little-endian integers;
                          the event of that ``order`` is then written without its ``indices``
    status/<pid>.json     what a process is at: a Status, replaced about four times a second by a thread of its own
    output/<n>.txt        standard output and error of the n-th process that the parent started
    scratch/              the containment's own: a throw-away copy of the project, a home, temporary files

``pid`` is ``os.getpid()`` in the process itself; inside a namespace it is not the number that the parent sees.

**How a child is started.** ``python -c START RUNFOLDER PACKAGE_ROOT``, where :data:`START` makes ddpdoctor importable
(at the end of ``sys.path``), takes away the entry that ``-c`` puts at the front of it, and runs the module
``ddpdoctor.harness.child`` as ``__main__`` with the run folder as ``sys.argv[1]``. It is for the child to make
``sys.path[0]`` (by inserting), ``sys.argv`` and ``__main__`` what they are when the script runs by itself. The working
directory is the script's, standard input is empty, :data:`RUN_VARIABLE` holds the run folder. In torchrun style there
is one process a rank with torchrun's variables; in spawn style and in single style there is one without any, and the
processes that it starts write events and status files of their own.

**Times.** ``Event.time`` and ``Status.time`` are ``time.monotonic() - Orders.began``, which is one clock for all
processes of a machine.

**Ends.** The child writes an ``Ended`` event and a status with ``done`` where it still can; for a process that did
neither the parent writes the event.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ddpdoctor.harness.plan import Plan
from ddpdoctor.named import NamedTuple
from ddpdoctor.record import Record

RUN_VARIABLE = "DDPDOCTOR_RUN"
"""The environment variable that holds the run folder in every process of a run."""

START = (
    "import sys\n"
    "if not getattr(sys.flags, 'safe_path', False): del sys.path[0]\n"
    "if sys.argv[2] not in sys.path: sys.path.append(sys.argv[2])\n"
    "import runpy\n"
    "runpy.run_module('ddpdoctor.harness.child', run_name='__main__', alter_sys=True)\n"
)
"""The program text by which the interpreter of a child starts."""

_open = open
"""A script may put something else in the place of the builtin."""

PARTS = ("events", "indices", "status", "output", "scratch")
"""The folders that a run folder holds."""


class Orders(Record):
    """What a child is told: the plan, with every path as the child sees it and the backend decided, and more.

    ``root`` is the project's root folder: files beneath it (and not in a site-packages folder) are the user's code.
    ``began`` is ``time.monotonic()`` when the run began. ``containment`` is ``overlay``, ``copy``, ``sandbox`` or
    ``none``. ``address`` and ``port`` are for the process group's rendezvous: on loopback, and free.
    """

    plan: Plan
    root: str
    began: float
    containment: str
    address: str = "127.0.0.1"
    port: int = 29500


class Status(NamedTuple):
    """What a process is at: ``time`` since the run began and ``cpu`` seconds that the process has used.

    ``collectives`` counts those it has issued so far, in all groups, and ``inside`` is the ``order`` of the Collective
    event that its main thread waits in. ``stack`` holds the main thread's frames in the user's files, outermost first,
    each a file and a line. ``doing`` is for a person to read (``step 3 of 6``). ``done`` when the user's code has
    ended. ``need`` is the number of bytes this rank expects to use at most, where it can tell (parameters, gradients,
    optimiser state). ``writer`` is the native number of the thread that wrote this; :func:`write_status` fills it in.
    """

    pid: int
    rank: int | None = None
    time: float = 0.0
    cpu: float = 0.0
    collectives: int = 0
    inside: int | None = None
    stack: tuple[tuple[str, int], ...] = ()
    doing: str = ""
    done: bool = False
    need: int = 0
    writer: int = 0


def events_path(folder: str, pid: int) -> str:
    """Return the file to which a process writes its events."""
    return os.path.join(folder, "events", f"{pid}.jsonl")


def indices_path(folder: str, pid: int, order: int) -> str:
    """Return the file that holds the indices of one EpochBegun event."""
    return os.path.join(folder, "indices", f"{pid}-{order}.bin")


def output_path(folder: str, number: int) -> str:
    """Return the file that takes the output of the n-th process that the parent starts, from 0."""
    return os.path.join(folder, "output", f"{number}.txt")


def write_orders(folder: str, orders: Orders) -> None:
    """Write the orders of a run into its folder."""
    _replace(os.path.join(folder, "plan.json"), {**orders.__dict__, "plan": plan_data(orders.plan)})


def read_orders(folder: str) -> Orders:
    """Return the orders of a run.

    Raises OSError when the folder holds none and ValueError when they are not whole.
    """
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    return Orders(plan=plan_of(data.pop("plan")), **data)


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain JSON data."""
    fields = {name: getattr(plan, name) for name in Plan.FIELDS}
    return {**fields, "layers": sorted(plan.layers), "arguments": list(plan.arguments)}


def plan_of(data: Mapping[str, Any]) -> Plan:
    """Return the plan that :func:`plan_data` was given."""
    return Plan(**{**data, "layers": frozenset(data["layers"]), "arguments": tuple(data["arguments"])})


def write_status(folder: str, status: Status) -> None:
    """Replace the status file of a process."""
    written = status._replace(writer=threading.get_native_id())
    _replace(os.path.join(folder, "status", f"{status.pid}.json"), written._asdict())


def read_statuses(folder: str) -> Iterator[Status]:
    """Yield the last status of each process that has written one."""
    place = os.path.join(folder, "status")
    for name in sorted(os.listdir(place)):
        if not name.endswith(".json"):
            continue
        try:
            with open(os.path.join(place, name), encoding="utf-8") as file:
                data = json.load(file)
            yield Status(**{**data, "stack": tuple((str(path), int(line)) for path, line in data["stack"])})
        except (OSError, ValueError, TypeError, KeyError):
            continue  # user code shares the folder: what is not a status says nothing


def _replace(path: str, data: dict[str, Any]) -> None:
    """Write a file so that a reader sees the old text or the new one, whole."""
    unfinished = f"{path}.{os.getpid()}.{threading.get_ident()}~"
    with _open(unfinished, "w", encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))
    os.replace(unfinished, path)

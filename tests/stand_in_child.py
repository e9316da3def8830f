"""Stands in for the observed child in tests of its parent: keeps the agreement of ``run_folder``, without torch.

A test's script is run with these names: ``child`` (below), ``RANK`` and ``SIZE``.
"""

import os
import sys
import threading
import time
import traceback

from ddpdoctor import codec, events
from ddpdoctor.harness.run_folder import Status, events_path, read_orders, write_status
from ddpdoctor.place import Place

STATUS_SECONDS = 0.25


class Child:
    """What a script says of itself instead of being observed."""

    def __init__(self, folder):
        self.folder = folder
        self.orders = read_orders(folder)
        self.rank = int(os.environ["RANK"]) if "RANK" in os.environ else None
        self.pid = os.getpid()
        self.order = self.issued = 0
        self.status = {}
        self.need = 0
        self.file = open(events_path(folder, self.pid), "a", encoding="utf-8")  # noqa: SIM115 (open as long as this)
        self.main = threading.main_thread().ident
        threading.Thread(target=self._report, daemon=True).start()

    def say(self, kind, line=None, **fields):
        """Write an event; its place is the calling line of the script unless ``line`` is given."""
        stack = self._stack(sys._getframe(1))
        here = stack[-1] if stack else (self.orders.plan.script, 1)
        self.order += 1
        event = getattr(events, kind)(
            place=Place(here[0], line or here[1]),
            stack=tuple(Place(*frame) for frame in stack[:-1]),
            rank=self.rank,
            order=self.order,
            time=time.monotonic() - self.orders.began,
            **fields,
        )
        self.file.write(codec.dumps(event) + "\n")
        self.file.flush()
        return event

    def wrap(self, *, steps=True):
        """Say that a model was wrapped and, unless it does not, did a step."""
        from ddpdoctor.value import UNKNOWN_VALUE, Ref

        place = Place(self.orders.plan.script, 1)
        model = Ref(type="torch.nn.parallel.DistributedDataParallel", place=place)
        self.say("GroupInit")
        self.say("ModelWrapped", wrapper=model, model=UNKNOWN_VALUE, how="torch", options={})
        if steps:
            self.say("Backward", reduced=True)

    def collective(self, op="all_reduce", shape=(4,), wait=0.0):
        """Issue a collective and stay in it for ``wait`` seconds."""
        event = self.say("Collective", op=op, shapes=(tuple(shape),), dtype="float32", sequence=self.issued)
        self.issued += 1
        self.status["inside"] = event.order
        self.report()
        time.sleep(wait)
        self.status["inside"] = None

    def doing(self, words):
        self.status["doing"] = words

    def report(self):
        frame = sys._current_frames().get(self.main)
        write_status(
            self.folder,
            Status(
                pid=self.pid,
                rank=self.rank,
                time=time.monotonic() - self.orders.began,
                cpu=time.process_time(),
                collectives=self.issued,
                stack=tuple(self._stack(frame)),
                need=self.need,
                **self.status,
            ),
        )

    def _report(self):
        while True:
            self.report()
            time.sleep(STATUS_SECONDS)

    def _stack(self, frame):
        found = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.orders.root):
                found.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return found[::-1]


def main():
    child = Child(sys.argv[1])
    script = child.orders.plan.script
    sys.argv[:] = [script, *child.orders.plan.arguments]
    sys.path.insert(0, os.path.dirname(script))
    names = {"child": child, "RANK": child.rank, "SIZE": child.orders.plan.ranks, "__name__": "__main__"}
    names["__file__"] = script
    how, status, said = "natural", 0, ""
    try:
        with open(script, encoding="utf-8") as file:
            code = compile(file.read(), script, "exec")
        exec(code, names)  # noqa: S102 (it is what a child is for)
    except SystemExit as error:
        how, status = "exit", error.code if isinstance(error.code, int) else int(error.code is not None)
        said = error.code if isinstance(error.code, str) else ""
        if status == 2:
            child.say("Raised", type="SystemExit", message="2", missing=names.get("MISSING", "arguments"))
        elif status:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            child.say("Raised", line, type="SystemExit", message=said, status=status)
    except BaseException as error:
        traceback.print_exc()
        how, status = "exception", 1
        missing = getattr(error, "name", None) or getattr(error, "filename", None)
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        child.say(
            "Raised",
            line,
            type=f"{type(error).__module__}.{type(error).__name__}",
            message=str(error),
            foreign=str(error),
            caused_by_peer="closed by peer" in str(error),
            missing=None if missing is None else str(missing),
        )
    child.say("Ended", how=how, status=status, said=said)
    child.status["done"] = True
    child.report()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main()

"""Spreads work over processes; one that dies takes nothing along but the task that it was at."""

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

MOST_AT_ONCE = 16
"""Tasks that a worker is given together: what stands side by side has modules in common, and those are read once."""
SHARES = 4
"""Each worker gets its tasks in at least so many turns: at the end none is to wait long for another."""


class Worker(Generic[Task, Result]):
    """A process, the connection to it, and the numbers of the tasks that it has yet to do."""

    def __init__(self, work: Callable[[Task], Result], others: Sequence[Connection]) -> None:
        # A fork is there at once and knows what was imported; elsewhere than on Linux it is not safe.
        forked = sys.platform == "linux"
        context = multiprocessing.get_context("fork") if forked else multiprocessing.get_context("spawn")
        self.connection, end = context.Pipe()
        inherited = [self.connection, *others] if forked else []
        self.process = context.Process(target=_serve, args=(end, inherited, work), daemon=True)
        self.process.start()
        end.close()
        self.pending: deque[int] = deque()

    def give(self, tasks: Sequence[Task], numbers: Sequence[int]) -> None:
        """Hand over the tasks of some numbers; one that is dead already is noticed when it is asked for a result."""
        self.pending.extend(numbers)
        try:
            self.connection.send([tasks[number] for number in numbers])
        except OSError:
            return

    def end(self) -> str:
        """Wait for the process to end, and say how it did."""
        self.connection.close()
        self.process.join()
        code = self.process.exitcode or 0
        try:
            return f"by {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        except ValueError:
            return f"by signal {-code}"


def _serve(connection: Connection, inherited: Sequence[Connection], work: Callable[[Task], Result]) -> None:
    """Do what comes until nothing more does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent heeds it, and ends its workers
    for other in inherited:  # else no end of a connection would be noticed while another worker lives
        other.close()
    try:
        while True:
            for task in connection.recv():
                connection.send(work(task))
    except (EOFError, OSError):
        return


def spread(
    tasks: Sequence[Task], work: Callable[[Task], Result], lost: Callable[[Task, str], Result], jobs: int
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in order.

    ``lost`` makes the result of a task whose process died, and is told how (``by SIGSEGV``). Where processes are not
    forked, ``work``, tasks and results have to be such that pickle knows them; results always.
    """
    results: dict[int, Result] = {}
    given = 0
    size = max(1, min(MOST_AT_ONCE, len(tasks) // (jobs * SHARES)))
    waiting = deque(range(start, min(start + size, len(tasks))) for start in range(0, len(tasks), size))
    workers: list[Worker[Task, Result]] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                workers.append(Worker(work, [worker.connection for worker in workers]))
                workers[-1].give(tasks, waiting.popleft())
            ready = wait([worker.connection for worker in workers])
            for worker in [worker for worker in workers if worker.connection in ready]:
                try:
                    results[worker.pending[0]] = worker.connection.recv()
                    worker.pending.popleft()
                    if not worker.pending and waiting:
                        worker.give(tasks, waiting.popleft())
                except (EOFError, OSError):
                    number = worker.pending.popleft()
                    results[number] = lost(tasks[number], worker.end())
                    workers.remove(worker)
                    if worker.pending:
                        waiting.appendleft(range(worker.pending[0], worker.pending[-1] + 1))
                    continue
                if not worker.pending:
                    worker.end()
                    workers.remove(worker)
            while given in results:
                yield tasks[given], results.pop(given)
                given += 1
    finally:
        for worker in workers:
            worker.process.kill()
            worker.end()

"""How multiprocessing starts processes."""


def default_start_method(version: tuple[int, ...]) -> str:
    """Return how multiprocessing starts processes on Linux when the script says nothing.

    What counts is the Python that will run the script; the reader's own is the best guess there is.
    """
    return "fork" if version < (3, 14) else "forkserver"

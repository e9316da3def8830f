"""The process that ``ddpdoctor`` and ``python -m ddpdoctor`` start."""

import sys

from ddpdoctor.garbage import garbage_left_lying


def main() -> int:
    """Run the command that the process was started with and return the exit status.

    Nobody looks for garbage from before the imports to the end of the process: it took a tenth of the time of a check.
    """
    with garbage_left_lying():
        from ddpdoctor.cli import main as run

        return run()


if __name__ == "__main__":
    sys.exit(main())

"""``python -m ddpdoctor``."""

import sys

from ddpdoctor.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m ddpdoctor.harness.child RUNFOLDER``: runs the script that the run folder's orders name."""

import sys

from ddpdoctor.harness.child.launch import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))

"""Makes from a plan the order that the guardian gets: which processes, in which environment, contained how."""

import os
import socket
import sys
import tempfile
import uuid

from ddpdoctor.harness import environment, memory
from ddpdoctor.harness.guard import Order
from ddpdoctor.harness.guardian import PACKAGE_ROOT
from ddpdoctor.harness.plan import Plan
from ddpdoctor.harness.platforms import CONTAINMENTS
from ddpdoctor.harness.project_root import project_root
from ddpdoctor.harness.run_folder import START, plan_data


def order(plan: Plan, *, only_asking: bool = False) -> Order:
    """Return the order for a run; with ``only_asking`` for one that only shows whether it can be contained.

    Raises OSError when no port is free.
    """
    # Links are followed: inside the containment a link to /tmp could lead elsewhere.
    temporary = os.path.realpath(tempfile.gettempdir())
    home = os.path.expanduser("~")
    folder = os.path.join(temporary, f"ddpdoctor-{uuid.uuid4().hex[:12]}")
    port = _free_port()
    base = environment.cleaned(os.environ, folder, linux=sys.platform == "linux")
    base["PWD"] = plan.directory
    ranks = environment.torchrun(base, plan.ranks, port) if plan.style == "torchrun" else [base]
    return Order(
        folder=folder,
        plan=plan_data(plan),
        root=project_root(plan.script, plan.directory, home, temporary),
        port=port,
        containments=CONTAINMENTS[sys.platform] if plan.containment == "auto" else (plan.containment,),
        command=(sys.executable, "-c", START, folder, PACKAGE_ROOT),
        ranks=[] if only_asking else ranks,
        home=home,
        temporary=temporary,
        size=memory.scratch(memory.available()),
    )


def _free_port() -> int:
    """Return a port on loopback that nobody listens on now; a run with a network of its own could take any."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])

"""Installs all that observes a process, before any of the user's code runs in it."""

import os
import sys
from types import ModuleType

from ddpdoctor.harness.child import absent_modules, arguments, environment, old_names, processes, subjects
from ddpdoctor.harness.child.observer import Observer

PASSIVE = "OMP_WAIT_POLICY"
"""Threads of OpenMP wait busily for the next loop: with two threads a rank and fewer cores than that, steps took up to
ten times as long (measured with torch 2.14 on two cores). Read when torch is loaded."""


def install(observer: Observer) -> None:
    """Observe this process from now on; torch is observed from when the script has imported it."""
    os.environ.setdefault(PASSIVE, "PASSIVE")
    sys.meta_path.insert(0, observer.patches.imports)
    observer.source.install()
    environment.install(observer)
    arguments.install(observer)
    absent_modules.install(observer)
    old_names.install(observer)
    processes.install(observer)

    def torch_imported(torch: ModuleType) -> None:
        subjects.install(observer, torch)
        observer.doing = "running the script"

    observer.patches.on_import("torch", torch_imported)
    observer.doing = "importing torch"
    observer.pulse.start()

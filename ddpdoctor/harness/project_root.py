"""Finds the folder of the project that a script belongs to."""

import os

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
"""What stands in a project's top folder."""


def project_root(script: str, directory: str, home: str, temporary: str) -> str:
    """Return the nearest folder around the script that has a project's marks, or the working directory around it, or
    the script's own folder. Homes, temporary folders and ``/`` are nobody's project.
    """
    own = os.path.dirname(script)
    not_projects = {"/", home, temporary, os.path.dirname(home)}
    folder = own
    while folder not in not_projects:
        if any(os.path.exists(os.path.join(folder, mark)) for mark in MARKERS):
            return folder
        folder = os.path.dirname(folder)
    around = own == directory or own.startswith(directory.rstrip("/") + "/")
    return directory if around and directory not in not_projects else own

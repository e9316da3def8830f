"""The other packages of a workspace: those that a project's pyproject.toml says lie beside it."""

import glob
import os
import re

from ddpdoctor.reader.project import description

MAX_UP = 6
"""How many folders above a script a workspace is looked for in."""
MAX_MEMBERS = 60


def members(folder: str) -> tuple[str, ...]:
    """Return the folders that hold the packages of the workspace that a folder is in: of uv's members, of paths.

    uv: ``[tool.uv.workspace] members = ["libs/*"]``; poetry, uv and hatch: ``common = {path = "../common"}``.
    """
    found: dict[str, None] = {}
    for _ in range(MAX_UP):
        text = description(os.path.join(folder, "pyproject.toml"))
        table = re.search(r"^\[tool\.uv\.workspace\][^\[]*?^members\s*=\s*\[([^\]]*)\]", text, re.M)
        patterns = re.findall(r"[\"']([^\"']+)[\"']", table[1]) if table else []
        patterns += re.findall(r"^[\w-]+\s*=\s*\{[^}\n]*?\bpath\s*=\s*[\"']([^\"']+)[\"']", text, re.M)
        for pattern in patterns:
            for one in sorted(glob.glob(os.path.join(folder, pattern)))[:MAX_MEMBERS]:
                found.update(dict.fromkeys((os.path.join(os.path.abspath(one), "src"), os.path.abspath(one))))
        if table or os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    return tuple(one for one in found if os.path.isdir(one))

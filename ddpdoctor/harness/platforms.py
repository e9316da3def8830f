"""The platforms on which a script can be run under protection; asked before anything of Unix is imported."""

import sys
from collections.abc import Mapping

CONTAINMENTS: Mapping[str, tuple[str, ...]] = {"linux": ("overlay", "copy"), "darwin": ("sandbox",)}
"""The ways to protect the user's files by platform, the best first. macOS's was not tested."""


def unsupported() -> str | None:
    """Return in a line why scripts are not run on this platform; ``None`` when they are."""
    if sys.platform in CONTAINMENTS:
        return None
    return "running a script needs Linux or macOS: here only its source is read"

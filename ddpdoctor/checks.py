"""Makes the checks importable as ``ddpdoctor.checks``.

In a wheel they lie in a folder of this name inside the package; in a checkout beside it, at the top level.
"""

import os

_inside = os.path.join(os.path.dirname(__file__), "checks")
_beside = os.path.join(os.path.dirname(os.path.dirname(__file__)), "checks")

__path__ = [_inside if os.path.isdir(_inside) else _beside]

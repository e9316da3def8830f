"""An ignore comment, or a configured ignore, that matched nothing. Found where findings are sifted."""

from ddpdoctor.check import Check
from ddpdoctor.finding import Severity

CHECK = Check(
    name="unused-ignore",
    summary="an ignore comment or configured ignore matched nothing",
    severity=Severity.NOTE,
    layers=("source",),
    triggers=(),
)

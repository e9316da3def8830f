"""Ports and options: which literals can be one, and which port the address of a rendezvous names."""

import re

from ddpdoctor.reader.abstract import Abstract, Known, Opaque, options
from ddpdoctor.reader.cells import choice
from ddpdoctor.reader.objects import Made

_PORT = r"(?:^|:)([0-9]{4,5})(?:$|[/?])"
_NAMED = r"tcp://[^/]*:([0-9]{1,5})(?:$|[/?])"
_FLAG = "--[a-z_-]{2,40}"
TCP_STORE = "torch.distributed.TCPStore"


def can_hold_a_port(value: int | str) -> bool:
    """Whether a literal can be a port that needs no privilege, or an address with one."""
    if isinstance(value, str):
        return (":" in value or value[:1].isdecimal()) and re.search(_PORT, value) is not None
    return 1024 <= value <= 65535


def is_flag(value: int | str) -> bool:
    """Whether a literal is the name of a command-line option."""
    return isinstance(value, str) and value[:2] == "--" and re.fullmatch(_FLAG, value) is not None


def port_named(address: Abstract | None) -> Abstract | None:
    """Return the port that an init method (``tcp://host:port``) or a store names, or ``None`` where none does."""
    if address is None:
        return None
    named = [(when, port) for when, option in options(address) if (port := _port(option)) is not None]
    return choice(named) if named else None


def _port(address: Abstract) -> Abstract | None:
    if isinstance(address, Made) and address.path == TCP_STORE:
        return address.argument("port", 1)
    if isinstance(address, Known) and isinstance(address.value, str):
        found = re.match(_NAMED, address.value)
        return Known(found[1], address.written) if found else None
    if isinstance(address, Opaque) and address.parts and _is_text(address.parts[0], "tcp://"):
        return _last_part(address.parts)
    return None


def _last_part(parts: tuple[Abstract, ...]) -> Abstract | None:
    """Return what stands after the colon, of an address that is put together from pieces."""
    *before, last = [part for part in parts if not (isinstance(part, Known) and part.value == "")]
    found = re.search(_PORT, str(last.value)) if isinstance(last, Known) else None
    if isinstance(last, Known) and found is not None:
        return Known(found[1], last.written)
    ends = before and isinstance(before[-1], Known) and str(before[-1].value).endswith(":")
    return last if ends else None


def _is_text(value: Abstract, start: str) -> bool:
    return isinstance(value, Known) and isinstance(value.value, str) and value.value.startswith(start)

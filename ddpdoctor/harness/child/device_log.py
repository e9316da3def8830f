"""Writes down which CUDA devices the script selects and uses, and when CUDA may first be initialised."""

import sys
from typing import Any

from ddpdoctor.events import CudaTouched, DeviceSelected, DeviceUsed
from ddpdoctor.harness.child.frames import UserFrames
from ddpdoctor.harness.child.recorder import Recorder
from ddpdoctor.value import Constant


class DeviceLog:
    """The devices of this process as the script names them, redirected or not. A line of the script says each once."""

    def __init__(self, recorder: Recorder, frames: UserFrames) -> None:
        self.used_cuda = False
        self._recorder = recorder
        self._frames = frames

    def touched(self, by: str) -> None:
        """Write that CUDA may be initialised from now on: visible devices that are set later have no effect."""
        self._once(CudaTouched, by, by=by)

    def selected(self, index: int | None, how: str) -> None:
        """Write that the current device is set."""
        self.touched(how)
        self._recorder.write(DeviceSelected, index=Constant(value=index), how=how)

    def used(self, device: Any, by: str) -> None:
        """Write that something goes to a device, when the device is a CUDA one.

        ``device`` is what the script gave: a number, a string, a ``torch.device``, ``None`` for the current device.
        """
        named, index = cuda_index(device)
        if named:
            self.used_cuda = True
            self.touched(by)
            self._once(DeviceUsed, by, str(index), index=None if index is None else Constant(value=index), by=by)

    def _once(self, kind: type[Any], *key: str, **fields: Any) -> None:
        at = self._frames.here(sys._getframe(2))
        self._recorder.once(kind, *key, repr(at[0]), str(len(at[1])), at=at, **fields)


def cuda_index(device: Any) -> tuple[bool, int | None]:
    """Return whether a device is a CUDA one, and the index it names, if it names one."""
    if device is None:
        return True, None
    if isinstance(device, bool):
        return False, None
    if isinstance(device, int):
        return device >= 0, device
    kind = getattr(device, "type", None)
    if isinstance(kind, str):  # torch.device
        return kind == "cuda", device.index
    if isinstance(device, str):
        name, _, number = device.partition(":")
        return name == "cuda", int(number) if number.isdecimal() else None
    return False, None

"""Archives: unpacked by a method, by a function or by a command, into a folder that all ranks name."""

from ddpdoctor.reader.abstract import NONE, Abstract, Known, Opaque
from ddpdoctor.reader.call import Call
from ddpdoctor.reader.library.files import use_file
from ddpdoctor.reader.objects import Made, Object
from ddpdoctor.reader.walk import Walk


def _extracted(walk: Walk, call: Call) -> Abstract | None:
    """``archive.extractall(folder)``: each file is written in place (``zipfile._extract_member``, ``tarfile``)."""
    if isinstance(call.receiver, Object) or not isinstance(call.receiver, (Made, Opaque)):
        return None
    use_file(walk, "download", call.argument("path", 0) or Known("."), call)
    return NONE


def _unpacked(walk: Walk, call: Call) -> Abstract | None:
    """``shutil.unpack_archive(file, folder)``."""
    folder = call.argument("to_path" if call.path.startswith("torchvision.") else "extract_dir", 1)
    use_file(walk, "download", folder or Known("."), call)
    return NONE


FUNCTIONS = dict.fromkeys(
    ("shutil.unpack_archive", "torchvision.datasets.utils.extract_archive", "torchtext.utils.extract_archive"),
    _unpacked,
)
METHODS = {"extractall": _extracted}

"""Puts data sets of the right length, shapes and classes in the place of torchvision's that are not on disk."""

import inspect
import os
from functools import partial
from types import ModuleType
from typing import Any

from ddpdoctor.harness.child import files
from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.harness.child.stand_in_contents import CONTENTS


def install(observer: Observer, module: ModuleType) -> None:
    """Replace the constructors of torchvision's data sets that there is a stand-in for."""
    replaced: set[Any] = set()
    for name in CONTENTS:
        named = getattr(module, name, None)
        # Several data sets can share a constructor, and each is filled by its own name.
        kind = next((each for each in getattr(named, "__mro__", ()) if "__init__" in vars(each)), None)
        if kind is None or kind in replaced:
            continue
        replaced.add(kind)
        observer.patches.wrap(kind, "__init__", partial(_constructor, observer))


def _constructor(observer: Observer, original: Any) -> Any:
    signature = inspect.signature(original)

    def __init__(dataset: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            bound = signature.bind(dataset, *args, **kwargs)
        except TypeError:
            through(original, dataset, *args, **kwargs)  # it says what is wrong
            return
        given = {name: value for name, value in bound.arguments.items() if name != "self"}
        given.update(given.pop("kwargs", {}))
        if given.get("download"):
            named = observer.objects.type_name(_torchvision_class(type(dataset)))
            files.use(observer, "download", given.get("root", "."), named)
            if "download" in kwargs:
                kwargs = {**kwargs, "download": False}
            else:
                bound.arguments["download"] = False
                args, kwargs = bound.args[1:], bound.kwargs
        try:
            through(original, dataset, *args, **kwargs)
        except (RuntimeError, FileNotFoundError, NotADirectoryError, ModuleNotFoundError) as error:
            name = next((each.__name__ for each in type(dataset).__mro__ if each.__name__ in CONTENTS), None)
            if name is None or not _is_about_files(error, given):
                raise
            _stand_in(observer, dataset, given, name)

    return __init__


def _torchvision_class(kind: type) -> type:
    return next((each for each in kind.__mro__ if each.__module__.startswith("torchvision.")), kind)


def _is_about_files(error: Exception, given: dict[str, Any]) -> bool:
    """Whether an exception says that the data is not there: it is in words that differ between the data sets."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return True
    text = str(error)
    root = str(given.get("root", given.get("img_folder", "")))
    return "not found" in text or "corrupted" in text or "download" in text or not os.path.exists(root)


def _stand_in(observer: Observer, dataset: Any, given: dict[str, Any], kind: str) -> None:
    from torchvision.datasets.vision import VisionDataset

    VisionDataset.__init__(
        dataset,
        str(given.get("root", ".")),
        transforms=given.get("transforms"),
        transform=given.get("transform"),
        target_transform=given.get("target_transform"),
    )
    words = CONTENTS[kind](dataset, given)
    observer.datasets.stand_ins[id(dataset)] = words
    observer.recorder.substituted(f"{kind}, which is not on disk", words)

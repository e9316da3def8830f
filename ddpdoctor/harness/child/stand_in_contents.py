"""What stand-ins for torchvision's data sets hold: the lengths, shapes and classes of the real ones."""

from collections.abc import Callable
from typing import Any

CIFAR10_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
VOC_CLASSES = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)
PICTURE = 256
"""The side in pixels of a picture of a folder: larger than what scripts crop from it."""

FOLDER_LENGTH = 10_000
"""The number of samples that a folder of unknown contents is given."""

IMAGENET_LENGTH = {True: 1_281_167, False: 50_000}
EMNIST_LENGTH = {
    "byclass": (697_932, 116_323, 62),
    "bymerge": (697_932, 116_323, 47),
    "balanced": (112_800, 18_800, 47),
    "letters": (124_800, 20_800, 27),
    "digits": (240_000, 40_000, 10),
    "mnist": (60_000, 10_000, 10),
}
"""Samples for training and testing, and classes."""

SVHN_LENGTH = {"train": 73_257, "test": 26_032, "extra": 531_131}
STL10_LENGTH = {"train": 5_000, "test": 8_000, "unlabeled": 100_000, "train+unlabeled": 105_000}


def _pictures(length: int, *shape: int) -> Any:
    """Return an array of pictures that are all the same one in memory."""
    import numpy as np

    one = np.random.default_rng(0).integers(0, 255, (1, *shape), dtype=np.uint8)
    return np.lib.stride_tricks.as_strided(one, (length, *shape), (0, *one.strides[1:]))


def cifar(classes: tuple[str, ...] | int) -> Callable[[Any, dict[str, Any]], str]:
    """Return what fills CIFAR10 or CIFAR100."""
    names = list(classes) if isinstance(classes, tuple) else [str(number) for number in range(classes)]

    def fill(dataset: Any, given: dict[str, Any]) -> str:
        dataset.train = bool(given.get("train", True))
        length = 50_000 if dataset.train else 10_000
        dataset.data = _pictures(length, 32, 32, 3)
        dataset.targets = [index % len(names) for index in range(length)]
        dataset.classes = list(names)
        dataset.class_to_idx = {name: index for index, name in enumerate(names)}
        return f"{length} samples of 32x32 pixels in {len(names)} classes, all the same picture"

    return fill


def digits(classes: tuple[str, ...]) -> Callable[[Any, dict[str, Any]], str]:
    """Return what fills MNIST and the data sets of its form."""

    def fill(dataset: Any, given: dict[str, Any]) -> str:
        import torch

        train = bool(given.get("train", given.get("what", "train") == "train"))
        names, length = list(classes), 60_000 if train else 10_000
        split = given.get("split", getattr(dataset, "split", None))
        if split in EMNIST_LENGTH:
            length = EMNIST_LENGTH[split][0 if train else 1]
            names = [str(number) for number in range(EMNIST_LENGTH[split][2])]
        dataset.train = train
        dataset.split = split
        dataset.data = torch.from_numpy(_pictures(1, 28, 28).copy()).expand(length, 28, 28)
        dataset.targets = torch.arange(length) % len(names)
        if not isinstance(getattr(type(dataset), "classes", None), list):
            dataset.classes = names
        return f"{length} samples of 28x28 pixels in {len(names)} classes, all the same picture"

    return fill


def svhn(dataset: Any, given: dict[str, Any]) -> str:
    """Fill SVHN."""
    import numpy as np

    dataset.split = str(given.get("split", "train"))
    length = SVHN_LENGTH.get(dataset.split, SVHN_LENGTH["train"])
    dataset.data = _pictures(length, 3, 32, 32)
    dataset.labels = np.arange(length) % 10
    return f"{length} samples of 32x32 pixels in 10 classes, all the same picture"


def stl10(dataset: Any, given: dict[str, Any]) -> str:
    """Fill STL10."""
    import numpy as np

    dataset.split = str(given.get("split", "train"))
    length = STL10_LENGTH.get(dataset.split, STL10_LENGTH["train"])
    dataset.data = _pictures(length, 3, 96, 96)
    dataset.labels = None if dataset.split == "unlabeled" else np.arange(length) % 10
    dataset.classes = ["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"]
    return f"{length} samples of 96x96 pixels in 10 classes, all the same picture"


def _picture() -> Any:
    from PIL import Image

    return Image.fromarray(_pictures(1, PICTURE, PICTURE, 3)[0])


def _load_picture(path: str) -> Any:
    """Return the picture, whatever file it is asked for."""
    return _picture()


def _folder(dataset: Any, names: list[str], length: int, labels: int) -> str:
    # A script that fixes the number of its model's classes may have fewer of them than a folder's: labels stay low.
    dataset.loader = _load_picture
    dataset.classes = names
    dataset.class_to_idx = {name: index for index, name in enumerate(names)}
    dataset.samples = dataset.imgs = [
        (f"{names[index % labels]}/{index}.jpg", index % labels) for index in range(length)
    ]
    dataset.targets = [label for _, label in dataset.samples]
    dataset.extensions = None
    return f"{length} samples of {PICTURE}x{PICTURE} pixels in {len(names)} classes, all the same picture"


def image_folder(dataset: Any, given: dict[str, Any]) -> str:
    """Fill ImageFolder."""
    return _folder(dataset, [f"class{number}" for number in range(10)], FOLDER_LENGTH, 2)


def imagenet(dataset: Any, given: dict[str, Any]) -> str:
    """Fill ImageNet."""
    dataset.split = str(given.get("split", "train"))
    dataset.wnids = [f"n{number:08d}" for number in range(1000)]
    dataset.wnid_to_idx = {name: index for index, name in enumerate(dataset.wnids)}
    words = _folder(dataset, list(dataset.wnids), IMAGENET_LENGTH[dataset.split == "train"], 1000)
    dataset.classes = [(name,) for name in dataset.wnids]
    return words


def voc_segmentation(dataset: Any, given: dict[str, Any]) -> str:
    """Fill VOCSegmentation: its items open files, so the item itself is replaced."""
    length = 1_464 if given.get("image_set", "train") == "train" else 1_449
    transforms = _transforms(given)
    dataset.images = [f"{index}.jpg" for index in range(length)]
    dataset.targets = [f"{index}.png" for index in range(length)]
    _give_items(
        dataset, length, lambda index: transforms(_picture(), _picture().convert("L").point(lambda value: value % 21))
    )
    return f"{length} samples of {PICTURE}x{PICTURE} pixels in 21 classes, all the same picture"


def voc_detection(dataset: Any, given: dict[str, Any]) -> str:
    """Fill VOCDetection: each picture has one box."""
    length = 5_717 if given.get("image_set", "train") == "train" else 5_823
    transforms = _transforms(given)
    dataset.images = [f"{index}.jpg" for index in range(length)]
    dataset.targets = [f"{index}.xml" for index in range(length)]
    box = {"xmin": "16", "ymin": "16", "xmax": "144", "ymax": "144"}
    size = {"width": str(PICTURE), "height": str(PICTURE), "depth": "3"}

    def item(index: int) -> Any:
        name = VOC_CLASSES[index % len(VOC_CLASSES)]
        thing = {"name": name, "pose": "Unspecified", "truncated": "0", "difficult": "0", "bndbox": dict(box)}
        note = {"folder": "VOC2012", "filename": f"{index}.jpg", "size": dict(size), "segmented": "0"}
        return transforms(_picture(), {"annotation": {**note, "object": [thing]}})

    _give_items(dataset, length, item)
    return f"{length} samples of {PICTURE}x{PICTURE} pixels with one box each, all the same picture"


def coco(dataset: Any, given: dict[str, Any]) -> str:
    """Fill CocoDetection: each picture has one box."""
    length = 5_000
    transforms = _transforms(given)
    dataset.ids = list(range(length))

    def item(index: int) -> Any:
        box = {
            "id": index,
            "image_id": index,
            "category_id": 1 + index % 90,
            "bbox": [16.0, 16.0, 128.0, 128.0],
            "area": 128.0 * 128.0,
            "iscrowd": 0,
            "segmentation": [],
        }
        return transforms(_picture(), [box])

    _give_items(dataset, length, item)
    return f"{length} samples of {PICTURE}x{PICTURE} pixels with one box each, all the same picture"


def _transforms(given: dict[str, Any]) -> Callable[[Any, Any], Any]:
    """Return what a data set applies to a picture and its target."""
    from torchvision.datasets.vision import StandardTransform

    both: Callable[[Any, Any], Any] | None = given.get("transforms")
    return both or StandardTransform(given.get("transform"), given.get("target_transform"))


def _give_items(dataset: Any, length: int, item: Callable[[int], Any]) -> None:
    """Give one data set a length and items of its own: special methods are looked up on the type."""
    kind = type(dataset)
    dataset.__class__ = type(
        kind.__name__,
        (kind,),
        {
            "__module__": kind.__module__,
            "__len__": lambda self: length,
            "__getitem__": lambda self, index: item(range(length)[index]),
        },
    )


Fill = Callable[[Any, dict[str, Any]], str]
"""Gives a data set, without its data, attributes like the real one's for the arguments it was made with, and returns
what it holds in words."""

CONTENTS: dict[str, Fill] = {
    "CIFAR10": cifar(CIFAR10_CLASSES),
    "CIFAR100": cifar(100),
    "MNIST": digits(tuple(str(number) for number in range(10))),
    "FashionMNIST": digits(FASHION_CLASSES),
    "KMNIST": digits(tuple(str(number) for number in range(10))),
    "EMNIST": digits(tuple(str(number) for number in range(10))),
    "QMNIST": digits(tuple(str(number) for number in range(10))),
    "SVHN": svhn,
    "STL10": stl10,
    "ImageFolder": image_folder,
    "ImageNet": imagenet,
    "VOCDetection": voc_detection,
    "VOCSegmentation": voc_segmentation,
    "CocoDetection": coco,
}
"""The data sets that there is a stand-in for, by name, and what fills each."""

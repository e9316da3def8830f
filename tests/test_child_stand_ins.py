"""Data sets and weights that are not on disk: what is put in their place, and what is left to fail."""

import pytest
from child_run import child, line

from ddpdoctor.events import DatasetBuilt, FileUsed, LoaderBuilt, Raised, Substituted

pytest.importorskip("torch")
pytest.importorskip("torchvision")

SCRIPT = """
import torch, torchvision
from torch.utils.data import DataLoader
from torchvision import datasets, models
from torchvision.transforms import Compose, ToTensor, RandomCrop

loaded = {}


def read(name, dataset, shape, length, classes=None):
    loader = DataLoader(dataset, batch_size=3)                            # loader
    assert len(dataset) == length, (name, len(dataset))
    image, label = dataset[length - 1]
    assert tuple(image.shape) == shape, (name, image.shape)
    assert isinstance(label, int) or torch.is_tensor(label), (name, label)
    if classes:
        assert len(dataset.classes) == classes, (name, dataset.classes)
        assert 0 <= int(label) < classes
    loaded[name] = dataset


tensor = ToTensor()
cifar = datasets.CIFAR10("./data", train=True, transform=tensor, download=True)   # cifar
read("CIFAR10", cifar, (3, 32, 32), 50000, 10)
read("test", datasets.CIFAR10("./data", train=False, transform=tensor), (3, 32, 32), 10000, 10)
read("CIFAR100", datasets.CIFAR100("./data", True, tensor, None, True), (3, 32, 32), 50000, 100)
read("MNIST", datasets.MNIST("./data", train=False, download=True, transform=tensor), (1, 28, 28), 10000, 10)
read("FashionMNIST", datasets.FashionMNIST("./data", transform=tensor), (1, 28, 28), 60000, 10)
read("KMNIST", datasets.KMNIST("./data", transform=tensor), (1, 28, 28), 60000, 10)
read("EMNIST", datasets.EMNIST("./data", "balanced", transform=tensor), (1, 28, 28), 112800, 47)
read("SVHN", datasets.SVHN("./data", split="extra", transform=tensor, download=True), (3, 32, 32), 531131)
read("STL10", datasets.STL10("./data", split="train", transform=tensor), (3, 96, 96), 5000, 10)
crop = Compose([RandomCrop(224), tensor])
read("ImageFolder", datasets.ImageFolder("/data/imagenet/train", crop), (3, 224, 224), 10000, 10)
read("ImageNet", datasets.ImageNet("/data/imagenet", "val", transform=crop), (3, 224, 224), 50000, 1000)
read("FakeData", datasets.FakeData(7, (3, 8, 8), 2, tensor), (3, 8, 8), 7)


class Pairs(datasets.CIFAR10):
    def __getitem__(self, index):
        image = self.data[index]
        return tensor(image), self.targets[index] + 0


read("a derived one", Pairs("./data", download=True), (3, 32, 32), 50000)
voc = datasets.VOCSegmentation("./data", image_set="train", transform=tensor, target_transform=tensor)
image, mask = voc[0]
assert image.shape == (3, 256, 256) and mask.shape == (1, 256, 256) and len(voc) == 1464
detection = datasets.VOCDetection("./data", image_set="val", download=True)
assert detection[1][1]["annotation"]["object"][0]["bndbox"] and len(detection) == 5823
coco = datasets.CocoDetection("/data/coco", "/data/coco/annotations.json", transform=tensor)
image, boxes = coco[4999]
assert boxes[0]["bbox"] and len(coco) == 5000
assert loaded["CIFAR10"].class_to_idx["airplane"] == 0 and loaded["CIFAR10"].train
assert loaded["CIFAR10"].data.shape == (50000, 32, 32, 3)

model = models.resnet18(weights="IMAGENET1K_V1")                          # weights
model.load_state_dict(torch.hub.load_state_dict_from_url("https://example.com/resnet-1234.pth")["model"])
hub = torch.hub.load("pytorch/vision:v0.10.0", "resnet18", pretrained=True, trust_repo=True)
assert isinstance(hub, models.ResNet)
assert torch.hub.list("facebookresearch/dino:main") == []
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("runs")
writer.add_scalar("loss", 1.0, 1)
writer.close()
print("came through", flush=True)
datasets.Caltech101("./data")                                             # fails
"""


def at(marker):
    return next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f"# {marker}"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return child(tmp_path_factory.mktemp("stand_ins"), SCRIPT)


def test_every_stand_in_is_like_the_real_one(run):
    assert "came through" in run.output, run.output


def test_a_data_set_without_a_stand_in_fails_as_it_does_anywhere(run):
    raised = run.one(Raised)
    assert (raised.type, line(raised)) == ("RuntimeError", at("fails"))
    assert not raised.ours


def test_what_stands_in_is_said(run):
    built = {event.dataset.type: event for event in run.of(DatasetBuilt)}
    cifar = built["torchvision.datasets.CIFAR10"]
    assert cifar.stand_in == "10000 samples of 32x32 pixels in 10 classes, all the same picture"
    assert built["torchvision.datasets.FakeData"].stand_in is None
    assert built["__main__.Pairs"].length == 50000
    first = run.of(DatasetBuilt)[0]
    assert (line(first), first.length) == (at("cifar"), 50000)
    assert {line(event) for event in run.of(LoaderBuilt)} == {at("loader")}
    said = {event.what for event in run.of(Substituted)}
    assert said >= {
        "CIFAR10, which is not on disk",
        "ImageNet, which is not on disk",
        "the module tensorboard, which is not installed",
    }
    assert any(what.startswith("the weights resnet18-") for what in said)


def test_downloads_are_asked_for_and_not_made(run):
    downloads = run.of(FileUsed, op="download")
    data = str(run.folder.parent / "project" / "data")
    first = downloads[0]
    assert (line(first), first.path.value, first.by) == (at("cifar"), data, "torchvision.datasets.CIFAR10")
    assert {event.by for event in downloads} >= {
        "torchvision.datasets.CIFAR100",
        "torchvision.datasets.MNIST",
        "torchvision.datasets.SVHN",
        "torch.hub.load_state_dict_from_url",
        "torch.hub.load",
    }
    assert [line(event) for event in downloads if line(event) == at("weights")], "weights= downloads too"
    assert not [path for path in (run.folder.parent / "project" / "data").rglob("*") if path.is_file()]


def test_data_that_is_there_is_used(tmp_path):
    script = """
        import os
        from PIL import Image
        from torchvision.datasets import ImageFolder
        for name in "ab":
            os.makedirs(f"images/{name}")
            Image.new("RGB", (8, 8)).save(f"images/{name}/0.png")
        data = ImageFolder("images")
        assert len(data) == 2 and data.classes == ["a", "b"]
    """
    run = child(tmp_path, script)
    assert not run.of(Raised), run.output
    assert not run.of(Substituted)


def test_a_checkpoint_that_is_not_there_is_missing(tmp_path):
    run = child(tmp_path, "import torch\ntorch.load('resume/last.pth', map_location='cuda:0')\n")
    raised = run.one(Raised)
    assert (raised.type, raised.missing, line(raised)) == ("FileNotFoundError", "resume/last.pth", 2)
    assert not raised.ours
    assert run.of(FileUsed, op="load")

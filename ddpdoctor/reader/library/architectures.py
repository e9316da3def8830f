"""Whole models that libraries make: which of them train BatchNorm layers by default."""

import re
from collections.abc import Callable

from ddpdoctor.reader.abstract import Abstract, External, Items, Known, Opaque, is_none, known
from ddpdoctor.reader.library.kinds import BATCH_NORMS, has_batch_norm
from ddpdoctor.reader.objects import Made

BY_NAME = {
    "timm.create_model": ("model_name", 0),
    "timm.models.create_model": ("model_name", 0),
    "torch.hub.load": ("model", 1),
    "torchvision.models.get_model": ("name", 0),
    "geffnet.create_model": ("model_name", 0),
    "pytorchcv.model_provider.get_model": ("name", 0),
    "cnn_finetune.make_model": ("model_name", 0),
    **{
        f"transformers.{auto}.from_pretrained": ("pretrained_model_name_or_path", 0)
        for auto in ("AutoModel", "AutoBackbone", "AutoModelForImageClassification")
    },
}
"""Functions that make the architecture whose name they are given, in which argument."""
NAMED = ("torchvision.models.", "timm.", "pretrainedmodels.", "geffnet.", "pytorchcv.models.", "resnest.torch.")
"""Packages in which a function or class is named after the architecture that it makes."""
ALWAYS_NORMALISED = (
    "efficientnet_pytorch.EfficientNet",
    "efficientnet_pytorch.model.EfficientNet",
    "resnet_pytorch.ResNet",
    "facenet_pytorch.InceptionResnetV1",
    "effdet.create_model",
    "effdet.EfficientDet",
    "torchxrayvision.models.DenseNet",
    "torchxrayvision.models.ResNet",
)
"""What trains BatchNorm layers whichever variant of it is made, by itself or by a method of its class."""
TRANSFORMERS = tuple(
    f"transformers.{name}" for name in ("ResNet", "RegNet", "MobileNetV1", "MobileNetV2", "EfficientNet")
)
"""Families of convolutional models in ``transformers``; the ``Config`` and the ``ImageProcessor`` are none."""
SEGMENTERS = "segmentation_models_pytorch."
NORMALISED_DECODERS = frozenset(
    {"Unet", "UnetPlusPlus", "MAnet", "Linknet", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus"}
)
"""Those of segmentation_models_pytorch whose decoder has BatchNorm by default; FPN's has GroupNorm."""
MONAI = "monai.networks.nets."
BY_NORM = (
    "norm",
    "norm_layer",
    "norm_type",
    "norm_cfg",
    "decoder_use_batchnorm",
    "decoder_use_norm",
    "psp_use_batchnorm",
)
"""Arguments that choose another normalisation than the usual one."""


def trains_batch_norm(value: Made) -> bool:
    """Whether a call made a whole model of an architecture that trains BatchNorm layers."""
    layer = value.argument("norm_layer")
    if layer is not None and not is_none(layer) and value.path.startswith(("torchvision.models.", "timm.")):
        return isinstance(layer, External) and layer.path in BATCH_NORMS
    if any(name in value.kwargs for name in BY_NORM) and not value.path.startswith(PYG):
        return _encoder_is_normalised(value) if value.path.startswith(SEGMENTERS) else False
    return is_normalised(value.path) or any(rule(value) for rule in RULES)


def is_normalised(path: str) -> bool:
    """Whether a class or function trains BatchNorm layers whatever it is given, as its name or its package says."""
    if path in BY_NAME or path.startswith("torchvision.models.get_"):
        return False
    if path.startswith(NAMED):
        return has_batch_norm(path)
    if path.startswith(TRANSFORMERS):
        last = path.removesuffix(".from_pretrained").rpartition(".")[2]
        return last.endswith("Model") or "For" in last or last.endswith("Backbone")
    return any(path == name or path.startswith(f"{name}.") for name in ALWAYS_NORMALISED)


def _named(value: Made) -> bool:
    """A name may have an owner before it and a tag behind it: ``hf_hub:timm/resnet50.a1_in1k``."""
    place = BY_NAME.get(value.path)
    if place is None:
        return False
    name = _name_or_default(value.argument(*place)).rpartition("/")[2].rpartition(":")[2]
    return has_batch_norm(name.partition(".")[0])


def _encoder_is_normalised(value: Made) -> bool:
    encoder = value.argument("encoder_name", 0)
    name = "resnet34" if encoder is None else _name_or_default(encoder)
    return has_batch_norm(name.removeprefix("timm-").removeprefix("tu-"))


def _segments(value: Made) -> bool:
    """Encoder and decoder of segmentation_models_pytorch: ``smp.Unet("resnet34")``."""
    if not value.path.startswith(SEGMENTERS):
        return False
    last = value.path.rpartition(".")[2]
    if last == "create_model":
        name = _name_or_default(value.argument("arch", 0)).lower()
        return name in {decoder.lower() for decoder in NORMALISED_DECODERS}
    return last in NORMALISED_DECODERS or (last in ("FPN", "UPerNet") and _encoder_is_normalised(value))


def _of_monai(value: Made) -> bool:
    """MONAI's classification networks have BatchNorm by default; most of its U-Nets have InstanceNorm."""
    last = value.path.rpartition(".")[2]
    families = ("DenseNet", "densenet", "ResNet", "resnet", "SENet", "SEResN", "EfficientNetBN")
    return value.path.startswith(MONAI) and last.startswith(families)


def _perceptron_of_pyg(value: Made) -> bool:
    """PyG's ``MLP`` has a BatchNorm1d after each hidden layer unless ``norm`` says otherwise (nn/models/mlp.py)."""
    norm = known(value.kwargs.get("norm", Known(BATCH_NORM)), "")
    if value.path not in PERCEPTRONS or not _is_batch_norm(norm) or known(value.kwargs.get("batch_norm")) is False:
        return False
    channels, layers = value.argument("channel_list", 0), known(value.kwargs.get("num_layers"))
    if known(value.kwargs.get("plain_last")) is False:
        return True
    return len(channels.items) > 2 if isinstance(channels, Items) else isinstance(layers, int) and layers > 1


def _network_of_pyg(value: Made) -> bool:
    """``GCN(…, norm="BatchNorm")``: PyG's stacked convolutions have no norm by default (nn/models/basic_gnn.py)."""
    module, _, name = value.path.rpartition(".")
    return module in PYG and name in STACKED and _is_batch_norm(known(value.kwargs.get("norm"), ""))


def _is_batch_norm(name: object) -> bool:
    """Whether PyG's resolver takes a name for BatchNorm's (torch_geometric/resolver.py): ``"batch_norm"``."""
    return isinstance(name, str) and re.sub(r"[-_ ]", "", name.lower()) in ("batch", BATCH_NORM.replace("_", ""))


BATCH_NORM = "batch_norm"
PYG = ("torch_geometric.nn", "torch_geometric.nn.models")
PERCEPTRONS = frozenset({*(f"{module}.MLP" for module in PYG), "torch_geometric.nn.models.mlp.MLP"})
STACKED = frozenset({"GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"})
RULES: tuple[Callable[[Made], bool], ...] = (_named, _segments, _of_monai, _perceptron_of_pyg, _network_of_pyg)


def _name_or_default(value: Abstract | None) -> str:
    if isinstance(value, Opaque) and value.default is not None:
        value = value.default
    return str(known(value, ""))

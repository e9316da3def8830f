"""Which dotted paths are wrappers, loaders, samplers, models: the families that the models of calls share."""

import re
from functools import lru_cache

from ddpdoctor.reader.abstract import Abstract, Items, Table
from ddpdoctor.reader.objects import Made, Object

WRAPPERS = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.DistributedDataParallelCPU",
        "torch.nn.parallel.DataParallel",
        "apex.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "fairscale.nn.data_parallel.ShardedDataParallel",
        "fairscale.nn.FullyShardedDataParallel",
    }
)
"""Modules that hold another one as ``.module``."""

DATA_PARALLEL = "torch.nn.parallel.DataParallel"

DDP_WRAPPERS = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.DistributedDataParallelCPU",
        "apex.parallel.DistributedDataParallel",
        "fairscale.nn.data_parallel.ShardedDataParallel",
    }
)
"""Those that replicate the model on every rank and average its gradients."""

BATCH_NORMS = frozenset(
    {
        "torch.nn.BatchNorm1d",
        "torch.nn.BatchNorm2d",
        "torch.nn.BatchNorm3d",
        "torch.nn.LazyBatchNorm1d",
        "torch.nn.LazyBatchNorm2d",
        "torch.nn.LazyBatchNorm3d",
        "torch_geometric.nn.BatchNorm",
        "torch_geometric.nn.norm.BatchNorm",
        *(f"sync_batchnorm.SynchronizedBatchNorm{n}d" for n in (1, 2, 3)),
        *(f"sync_batchnorm.batchnorm.SynchronizedBatchNorm{n}d" for n in (1, 2, 3)),
    }
)
"""Those of the package sync_batchnorm synchronise only as replicas of its own DataParallel, in one process."""

NAMESPACE = "argparse.Namespace"
LOADER = "torch.utils.data.DataLoader"
DISTRIBUTED_SAMPLER = "torch.utils.data.DistributedSampler"

RANK_AWARE = frozenset(
    {
        DISTRIBUTED_SAMPLER,
        "torchdata.stateful_dataloader.sampler.StatefulDistributedSampler",
        "catalyst.data.DistributedSamplerWrapper",
        "timm.data.distributed_sampler.OrderedDistributedSampler",
        "timm.data.distributed_sampler.RepeatAugSampler",
        "torchvision.datasets.samplers.DistributedSampler",
        "monai.data.DistributedSampler",
    }
)
"""Samplers that deal the samples out to the ranks."""

BATCH_NORM_FAMILIES = (
    "resnet",
    "resnext",
    "wide_resnet",
    "densenet",
    "mobilenet",
    "mnasnet",
    "efficientnet",
    "googlenet",
    "inception",
    "regnet",
    "shufflenet",
    "deeplab",
    "fcn_",
    "lraspp",
    "maxvit",
    "r3d",
    "mc3",
    "r2plus1d",
    "s3d",
    "se_resn",
    "seresn",
    "senet",
    "resnest",
    "res2net",
    "dpn",
    "xception",
    "nasnet",
    "pnasnet",
    "hrnet",
    "efficientdet",
)
"""Families of torchvision (and timm) architectures whose default normalisation is a trained BatchNorm."""

NORM_FREE_FAMILIES = (
    "nfnet",
    "nf_",
    "_gn",
    "_bit",
    "squeezenet",
    "fasterrcnn",
    "maskrcnn",
    "retinanet",
    "keypointrcnn",
)
"""Those that look like one of the former and are not: no normalisation, GroupNorm, or a frozen BatchNorm."""


def has_batch_norm(architecture: str) -> bool:
    """Whether an architecture named as torchvision and timm name theirs trains BatchNorm layers by default."""
    name = architecture.lower().rpartition(".")[2]
    if any(family in name for family in NORM_FREE_FAMILIES):
        return False
    if name.startswith("vgg"):
        return name.endswith("_bn")
    if "convnext" in name or ("vit" in name and "maxvit" not in name) or "swin" in name:
        return False
    return any(name.startswith(family) or f"_{family}" in name for family in BATCH_NORM_FAMILIES)


LAYER_LISTS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
"""Modules that are lists of others."""

APPENDED = "appended layers"
"""The hidden attribute that holds the layers that were appended to such a list."""


def layers_of(value: Made) -> Items:
    """Return the layers that a list of them holds, those appended later included."""
    if value.path == "torch.nn.Sequential" and not isinstance(value.args[0] if value.args else None, Table):
        layers = Items(value.args, more=value.open)
    else:
        first = value.args[0] if value.args else None
        values = [cell[-1][1] for cell in first.cells.values()] if isinstance(first, Table) else []
        layers = Items(first.items, more=first.open) if isinstance(first, Items) else Items(values, more=not values)
    later = value.attributes.get(APPENDED)
    if later and isinstance(later[-1][1], Items):
        return Items([*layers.items, *later[-1][1].items], more=True)
    return layers


def children_of(value: Abstract) -> Items | None:
    """Return the modules that ``list(model.children())`` is made of; those of a library's model are not told apart."""
    while isinstance(value, Made) and value.args and value.path in ("builtins.list", "builtins.tuple"):
        value = value.args[0]
    if not isinstance(value, Made) or value.path.rpartition(".")[2] != "children":
        return None
    if isinstance(value.inner, Object):
        held = [cell[-1][1] for cell in value.inner.attributes.values()]
        return Items([one for one in held if is_module(one)], more=True)
    return Items([value.inner], more=True) if isinstance(value.inner, Made) else None


LOCAL = (
    "builtins.",
    "torch.",
    "torchvision.",
    "numpy.",
    "math.",
    "statistics.",
    "scipy.",
    "sklearn.",
    "pandas.",
    "einops.",
    "collections.",
    "copy.",
    "itertools.",
    "functools.",
    "operator.",
    "decimal.",
    "tqdm.",
    "timm.utils.accuracy",
    "torchmetrics.functional.",
    *(
        "monai.losses.",
        "segmentation_models_pytorch.losses.",
        "kornia.losses.",
        "timm.loss.",
        "piq.",
        "pytorch_msssim.",
    ),
    *("lpips.", "fvcore.nn.", "focal_loss.", "info_nce."),
)
"""Calls, by the start of their path, in which a rank computes by itself: no other rank's numbers come in."""


def is_local(path: str) -> bool:
    """Whether a call asks no other rank for anything."""
    return path.startswith(LOCAL) and not path.startswith("torch.distributed.")


MODEL_MAKERS = (
    "torchvision.models.",
    "timm.create_model",
    "timm.models.",
    "efficientnet_pytorch.EfficientNet",
    "efficientnet_pytorch.model.EfficientNet",
    "segmentation_models_pytorch.",
    "pretrainedmodels.",
    "geffnet.",
    "pytorchcv.model",
    "cnn_finetune.make_model",
    "resnest.torch.",
    "resnet_pytorch.ResNet",
    "facenet_pytorch.InceptionResnetV1",
    "effdet.",
    "torchxrayvision.models.",
    "transformers.Auto",
    "torch.hub.load",
    "monai.networks.nets.",
    "diffusers.",
    "sync_batchnorm.",
)
"""Calls whose result is a model, by the start of their path."""


def is_module(value: Abstract) -> bool:
    """Whether a value is a model or a layer."""
    if isinstance(value, Object):
        return any(_is_module_class(path) for path in value.cls.external_bases())
    return isinstance(value, Made) and _makes_a_module(value.path)


@lru_cache(maxsize=10_000)
def _makes_a_module(path: str) -> bool:
    if path in WRAPPERS or path.startswith(MODEL_MAKERS) or _is_of_transformers(path):
        return True
    head, _, last = path.rpartition(".")
    return head == "torch.nn" and last[:1].isupper() and last != "Parameter"


def _is_of_transformers(path: str) -> bool:
    """Whether a call makes a model of transformers: ``BertForSequenceClassification.from_pretrained(name)``."""
    made = re.fullmatch(_TRANSFORMERS, path) if path.startswith("transformers.") else None
    return made is not None and not made[1].startswith("DataCollator")


_TRANSFORMERS = (
    r"transformers\.(?:models\.[\w.]+\.|modeling_\w+\.)?([A-Z]\w*(?:For[A-Z]\w*|Model))"
    r"(?:\.from_pretrained|\.from_config|\._from_config)?"
)


@lru_cache(maxsize=10_000)
def _is_module_class(path: str) -> bool:
    last = path.rpartition(".")[2]
    return (
        last.endswith("Module")
        or path.startswith(("torch.nn.", "torchvision.models.", "timm.models.", "efficientnet_pytorch.EfficientNet"))
        or last in ("ModelMixin", "GenerationMixin", "MessagePassing")
        or last.endswith("PreTrainedModel")
        or _is_of_transformers(path)
    )

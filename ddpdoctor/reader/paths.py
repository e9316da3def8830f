"""The one name of everything in PyTorch that can be imported under several."""

_OF_LAYERS = (
    "activation",
    "batchnorm",
    "container",
    "conv",
    "dropout",
    "instancenorm",
    "linear",
    "loss",
    "module",
    "normalization",
    "pooling",
    "rnn",
    "sparse",
    "transformer",
)
"""The modules of ``torch.nn.modules``, each of which ``torch.nn`` takes all classes from."""

ALIASES = (
    ("torch.distributed.distributed_c10d.", "torch.distributed."),
    ("torch.distributed.nn.functional.", "torch.distributed.nn."),
    ("torch.distributed.fsdp.fully_sharded_data_parallel.", "torch.distributed.fsdp."),
    ("torch.distributed.checkpoint.state_dict_saver.", "torch.distributed.checkpoint."),
    ("torch.distributed.checkpoint.state_dict_loader.", "torch.distributed.checkpoint."),
    ("torch.nn.parallel.distributed.", "torch.nn.parallel."),
    ("torch.nn.parallel.data_parallel.", "torch.nn.parallel."),
    ("torch.nn.modules.", "torch.nn."),
    *((f"torch.nn.{name}.", "torch.nn.") for name in _OF_LAYERS),
    ("torch.utils.data.distributed.", "torch.utils.data."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.sampler.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.multiprocessing.spawn.", "torch.multiprocessing."),
    ("torch.cuda.amp.grad_scaler.", "torch.cuda.amp."),
    ("torch.amp.grad_scaler.", "torch.amp."),
    ("torch.optim.optimizer.", "torch.optim."),
    ("torchvision.datasets.cifar.", "torchvision.datasets."),
    ("torchvision.datasets.mnist.", "torchvision.datasets."),
    ("torchvision.datasets.folder.", "torchvision.datasets."),
    ("torchvision.models.resnet.", "torchvision.models."),
    ("apex.parallel.distributed.", "apex.parallel."),
    ("multiprocessing.context.", "multiprocessing."),
    ("pytorch_lightning.", "lightning."),
    ("lightning.pytorch.", "lightning."),
)
_ALIASED = tuple(alias for alias, _ in ALIASES)

_OF_MM = ("mmcv.parallel", "mmcv.parallel.distributed", "mmcv.parallel.data_parallel", "mmengine.model")
RENAMED = {
    "torch.nn.DataParallel": "torch.nn.parallel.DataParallel",
    "torch_geometric.nn.DataParallel": "torch.nn.parallel.DataParallel",
    "torch_geometric.nn.data_parallel.DataParallel": "torch.nn.parallel.DataParallel",
    "torch.nn.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    **{f"{home}.MMDistributedDataParallel": "torch.nn.parallel.DistributedDataParallel" for home in _OF_MM},
    **{f"{home}.MMDataParallel": "torch.nn.parallel.DataParallel" for home in _OF_MM},
    "torch.multiprocessing.spawn.spawn": "torch.multiprocessing.spawn",
    "timm.data.loader.OrderedDistributedSampler": "timm.data.distributed_sampler.OrderedDistributedSampler",
    "timm.data.loader.RepeatAugSampler": "timm.data.distributed_sampler.RepeatAugSampler",
}


HOMES = (
    *("torch", "apex", "multiprocessing", "pytorch_lightning", "lightning", "timm.data."),
    *("mmcv.parallel.", "mmengine.model."),
)


def canonical(path: str) -> str:
    """Return the one name of what a dotted path names.

    A ``…functional.`` or ``…distributed.`` that is the module itself keeps its name.
    """
    if not path.startswith(HOMES):
        return path
    if path.startswith(_ALIASED):
        for alias, name in ALIASES:
            if path.startswith(alias):
                path = name + path[len(alias) :]
    return RENAMED.get(path, path)


COLLECTIVES = frozenset(
    [
        "all_reduce",
        "all_reduce_coalesced",
        "barrier",
        "broadcast",
        "all_gather",
        "all_gather_into_tensor",
        "_all_gather_base",
        "reduce",
        "gather",
        "scatter",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "_reduce_scatter_base",
        "all_to_all",
        "all_to_all_single",
        "all_gather_object",
        "gather_object",
        "broadcast_object_list",
        "scatter_object_list",
        "monitored_barrier",
        "all_gather_coalesced",
        "all_gather_multigpu",
        "all_reduce_multigpu",
        "broadcast_multigpu",
        "reduce_multigpu",
    ]
)
"""The functions of torch.distributed that every rank of a group has to call."""

_EXPORTS = {
    "torch": frozenset(
        ["nn", "cuda", "save", "load", "distributed", "device", "no_grad", "optim", "utils", "Tensor", "tensor"]
    ),
    "torch.distributed": COLLECTIVES
    | frozenset(
        [
            "init_process_group",
            "destroy_process_group",
            "get_rank",
            "get_world_size",
            "is_initialized",
            "is_available",
            "new_group",
            "ReduceOp",
            "get_backend",
        ]
    ),
    "torch.nn": frozenset(
        ["Module", "Linear", "Sequential", "SyncBatchNorm", "BatchNorm2d", "Conv2d", "DataParallel", "parallel"]
    ),
    "torch.utils.data": frozenset(["DataLoader", "Dataset", "DistributedSampler", "Sampler", "BatchSampler", "Subset"]),
    "monai.data": frozenset({"DataLoader", "ThreadDataLoader", "Dataset", "CacheDataset", "DistributedSampler"}),
    "torch.nn.parallel": frozenset({"DistributedDataParallel", "DataParallel"}),
}


def exported(module: str, name: str) -> bool:
    """Whether ``from module import *`` is known to bring a name."""
    return name in _EXPORTS.get(module, ())

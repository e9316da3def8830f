"""SyncBatchNorm on the CPU: the collectives and the numbers of the GPU's, which torch has no CPU kernels for."""

from types import ModuleType
from typing import Any

from ddpdoctor.harness.child.observer import Observer
from ddpdoctor.harness.child.passing import through
from ddpdoctor.named import NamedTuple


def install(observer: Observer, torch: ModuleType) -> None:
    """Redirect SyncBatchNorm in scripts that run on GPUs; in one for CPUs it fails as it does anywhere."""
    function = _synchronised(torch)

    def on_gpus() -> bool:
        return observer.devices.used_cuda or "nccl" in (observer.asked_backend or "nccl")

    def forward(original: Any) -> Any:
        def forward(layer: Any, input: Any) -> Any:  # noqa: A002
            if not layer.training or not torch.distributed.is_initialized() or not on_gpus():
                return through(original, layer, input)
            layer._check_input_dim(input)
            layer._check_non_zero_input_channels(input)
            group = layer.process_group or torch.distributed.group.WORLD
            tracked = layer.track_running_stats
            running = (layer.running_mean, layer.running_var) if tracked else (None, None)
            momentum = _momentum(layer)
            if torch.distributed.get_world_size(group) < 2:
                return torch.nn.functional.batch_norm(
                    input, *running, layer.weight, layer.bias, training=True, momentum=momentum, eps=layer.eps
                )
            settings = Settings(layer.eps, momentum, group)
            return function.apply(input, layer.weight, layer.bias, *running, settings)

        return forward

    def accept(original: Any) -> Any:
        def _passing_sync_batchnorm_handle(wrapper: Any, module: Any) -> Any:
            return None if on_gpus() else through(original, wrapper, module)

        return _passing_sync_batchnorm_handle

    observer.patches.wrap(torch.nn.SyncBatchNorm, "forward", forward)
    observer.patches.wrap(torch.nn.parallel.DistributedDataParallel, "_passing_sync_batchnorm_handle", accept)


class Settings(NamedTuple):
    """How a layer normalises: what it adds to the variance, the batch's weight in the running statistics, its group."""

    eps: float
    momentum: float
    group: Any


def _momentum(layer: Any) -> float:
    """Count the batch, and return the weight that its statistics get among the running ones."""
    if layer.track_running_stats:
        layer.num_batches_tracked.add_(1)
    if layer.momentum is not None:
        return float(layer.momentum)
    return 1.0 / layer.num_batches_tracked.item() if layer.track_running_stats else 0.0


def _synchronised(torch: Any) -> Any:
    """Return the function that normalises by the statistics of all ranks' batches.

    As on GPUs (torch/nn/modules/_functions.py), the forward gathers each rank's mean, variance and count, and the
    backward reduces two sums a channel. A rank with an empty batch takes part with a count of 0.
    """
    dist = torch.distributed

    class SynchronisedBatchNorm(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, input: Any, weight: Any, bias: Any, mean: Any, variance: Any, how: Settings) -> Any:  # noqa: A002
            eps, momentum, group = how
            channels = input.shape[1]
            count = input.numel() // channels
            over = (0, *range(2, input.dim()))
            if count:
                own_variance, own_mean = torch.var_mean(input.float(), over, correction=0)
            else:
                own_variance = own_mean = torch.zeros(channels)
            combined = torch.cat([own_mean, own_variance, own_mean.new_tensor([count])])
            gathered = [torch.empty_like(combined) for _ in range(dist.get_world_size(group))]
            dist.all_gather(gathered, combined, group)
            means, variances, counts = torch.stack(gathered).split([channels, channels, 1], dim=1)
            total = counts.sum()
            all_mean = (means * counts).sum(0) / total
            all_variance = ((variances + (means - all_mean) ** 2) * counts).sum(0) / total
            if mean is not None:
                mean.lerp_(all_mean.to(mean.dtype), momentum)
                variance.lerp_((all_variance * total / (total - 1)).to(variance.dtype), momentum)
            context.save_for_backward(input, weight, all_mean, (all_variance + eps).rsqrt(), total)
            context.group = group
            if not count:
                return torch.empty_like(input)
            return torch.nn.functional.batch_norm(
                input.float(), all_mean, all_variance, weight, bias, training=False, eps=eps
            ).to(input.dtype)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(context: Any, gradient: Any) -> Any:
            input, weight, mean, inverse, total = context.saved_tensors  # noqa: A001
            channels = input.shape[1]
            shape = (1, channels, *[1] * (input.dim() - 2))
            over = (0, *range(2, input.dim()))
            normal = (input.float() - mean.view(shape)) * inverse.view(shape)
            gradient = gradient.float()
            own = torch.cat([gradient.sum(over), (gradient * normal).sum(over)])
            gradient_bias, gradient_weight = own.clone().split(channels)
            if context.needs_input_grad[0]:
                dist.all_reduce(own, group=context.group)
            bias_sum, weight_sum = (own / total).split(channels)
            scale = inverse if weight is None else inverse * weight
            gradient_input = scale.view(shape) * (gradient - bias_sum.view(shape) - normal * weight_sum.view(shape))
            return (
                gradient_input.to(input.dtype) if context.needs_input_grad[0] else None,
                gradient_weight if weight is not None and context.needs_input_grad[1] else None,
                gradient_bias if weight is not None and context.needs_input_grad[2] else None,
                *[None] * 3,
            )

    return SynchronisedBatchNorm

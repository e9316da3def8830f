"""The functions of ``torch.cuda`` after which CUDA may be initialised, so that its visible devices are fixed."""

TOUCHING = (
    "init",
    "current_device",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "mem_get_info",
    "synchronize",
    "is_bf16_supported",
    "current_stream",
    "default_stream",
    "get_rng_state",
)
"""They call ``_lazy_init`` or the CUDA runtime (torch/cuda/__init__.py, memory.py and random.py of torch 2.14).

Not among them: ``device_count``, which asks NVML, and that reads CUDA_VISIBLE_DEVICES each time
(torch.cuda._device_count_nvml; builds for CUDA have it, and ``import torch`` alone does not initialise CUDA either);
``manual_seed`` and ``set_rng_state``, which only queue; ``memory_allocated`` and its kin, which return before CUDA is
initialised; ``get_arch_list``, which reads what torch was built for."""

AVAILABLE = "is_available"
"""It calls ``cudaGetDeviceCount``, which initialises the driver, unless :data:`NVML_CHECK` has it ask NVML."""

NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
"""The environment variable that has ``is_available`` ask NVML when it is ``1`` (torch.cuda._nvml_based_avail)."""

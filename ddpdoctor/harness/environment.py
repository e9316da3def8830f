"""The environment of the observed processes: the user's, without what would tie them to a live job or a service."""

from collections.abc import Mapping, Sequence

from ddpdoctor.harness.run_folder import RUN_VARIABLE

LAUNCHER_NAMES = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "ROLE_NAME",
        "ROLE_RANK",
        "ROLE_WORLD_SIZE",
        "NODE_RANK",
        "NNODES",
        "NPROC_PER_NODE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "RDZV_ENDPOINT",
        "MPI_LOCALRANKID",  # Intel MPI
        "MPI_LOCALNRANKS",
        "SM_HOSTS",  # SageMaker
        "SM_CURRENT_HOST",
        "TF_CONFIG",  # the cluster of a TensorFlow job, which some launchers read
        "TORCH_DISTRIBUTED_DEBUG",  # DETAIL makes DDP on gloo crash (torch 2.14.1)
    }
)
"""Variables by which a launcher tells a process its place in a job."""

LAUNCHER_PREFIXES = (
    "TORCHELASTIC_",
    "TORCH_ELASTIC_",
    "PET_",  # torchrun's options as variables
    "SLURM_",
    "SLURMD_",
    "SRUN_",
    "OMPI_",  # Open MPI
    "PMIX_",
    "PMI_",  # MPICH, Cray, Intel MPI
    "PMI2_",
    "PALS_",  # Cray
    "HYDI_",  # MPICH
    "MV2_",  # MVAPICH2
    "MPIRUN_",
    "FLUX_",
    "LSB_",  # LSF
    "JSM_",
    "PBS_",
    "SGE_",
    "HOROVOD_",
    "ACCELERATE_",  # accelerate launch
    "FSDP_",
    "DEEPSPEED_",
    "RAY_",  # RAY_ADDRESS joins a running cluster
    "NCCL_",  # interfaces, files and debugging of the job that this runs beside
    "TORCH_NCCL_",
    "TORCH_FR_",
    "GLOO_",
    "UCC_",
    "UCX_",
)
"""What the names of such variables begin with."""

INTERACTIVE = ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONINSPECT", "PYTHONSTARTUP")
"""Variables that would open a window or a prompt that nobody answers."""

QUIET: Mapping[str, str] = {
    "HF_HUB_OFFLINE": "1",  # huggingface_hub
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",  # transformers
    "HF_DATASETS_OFFLINE": "1",  # datasets
    "HF_EVALUATE_OFFLINE": "1",  # evaluate
    "DIFFUSERS_OFFLINE": "1",  # diffusers
    "WANDB_MODE": "disabled",  # Weights & Biases: calls do nothing and no service process is started
    "WANDB_SILENT": "true",
    "MLFLOW_TRACKING_URI": "file:mlruns",  # MLflow: the run's own folder instead of a server
    "COMET_START_ONLINE": "false",  # Comet
    "COMET_DISABLE_AUTO_LOGGING": "1",
    "NEPTUNE_MODE": "offline",  # Neptune, both of its clients
    "CLEARML_OFFLINE_MODE": "1",  # ClearML
    "TRAINS_OFFLINE_MODE": "1",  # ClearML's earlier name
    "SWANLAB_MODE": "disabled",  # SwanLab
    "YOLO_OFFLINE": "true",  # Ultralytics: no update checks, no telemetry
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray
    "DO_NOT_TRACK": "1",
    "PIP_NO_INDEX": "1",  # scripts that install what they lack
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "MPLBACKEND": "Agg",  # Matplotlib: plt.show() opens no window
    "PYTHONBREAKPOINT": "0",  # a breakpoint() left in the script does not stop it
    "PYTHONFAULTHANDLER": "1",  # a process that dies by a signal prints where it was
}
"""What keeps hubs, experiment trackers and installers off the network, and runs from asking anybody anything."""

LOOPBACK: Mapping[str, str] = {
    "GLOO_SOCKET_IFNAME": "lo",  # the only interface that a contained run has
    "NCCL_SOCKET_IFNAME": "lo",
    "TP_SOCKET_IFNAME": "lo",  # TensorPipe (torch.distributed.rpc)
}
"""Where the ranks of a run on Linux find each other."""

THREADS = "2"
"""CPU threads a rank, where the user sets none: autograd's convolutions choose other kernels with one, and on a big
machine two ranks with all cores each would only get in each other's way."""


def cleaned(outer: Mapping[str, str], run_folder: str, *, linux: bool) -> dict[str, str]:
    """Return the environment that every observed process starts from."""
    kept = {name: value for name, value in outer.items() if not _ties(name) and name not in INTERACTIVE}
    kept.setdefault("OMP_NUM_THREADS", THREADS)
    kept.update(QUIET)
    kept.update(LOOPBACK if linux else {})
    kept[RUN_VARIABLE] = run_folder
    return kept


def torchrun(environment: Mapping[str, str], size: int, port: int) -> Sequence[Mapping[str, str]]:
    """Return the environments of ``size`` ranks that torchrun started on one node."""
    shared = {
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_NAME": "default",
        "ROLE_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "ddpdoctor",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        # TORCHELASTIC_USE_AGENT_STORE is left out: rank 0 opens the store itself, there is no agent.
    }
    return [
        {**environment, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "ROLE_RANK": str(rank)}
        for rank in range(size)
    ]


def _ties(name: str) -> bool:
    return name in LAUNCHER_NAMES or name.startswith(LAUNCHER_PREFIXES)

"""Calls that are not followed: what they may do that matters, by their names."""

from functools import lru_cache

NO_SETTING_UP = ("torch.nn.init", "builtins.", "logging.")
SETTING_UP = (
    *("init", "setup", "set_up", "dist", "launch", "boot", "ddp", "slurm", "parallel", "world", "prepare", "environ"),
    *("runtime", "connect", "mesh", "spawn", "engine", "strategy", "fabric", "accelerat", "trainer", "training"),
    *("horovod", "hvd", "into_dataclasses"),
)
"""Parts of the names of calls outside the project that may set up the process group."""


@lru_cache(maxsize=5_000)
def may_set_up(call: str) -> bool:
    """Whether a call outside the project may set up the process group, by its name."""
    lowered = call.lower()
    return not call.startswith(NO_SETTING_UP) and any(word in lowered for word in SETTING_UP)


NO_MOVERS = ("torch.", "builtins.", "copy.", "logging.", "math.", "super()", "wandb.", "numpy.", "os.")
"""Calls that put no model onto another device, by the start of what they are called."""

"""Sends what asks for CUDA and NCCL to the CPU and gloo; left out where the run has its GPUs.

Only callers outside torch are told that there are GPUs: torch's own code keeps to the CPU.
"""

from types import ModuleType

from ddpdoctor.harness.child.observer import Observer


def install(observer: Observer, torch: ModuleType) -> None:
    """Redirect this process."""
    from ddpdoctor.harness.child.redirect import accelerator, cuda, group, modules, operators, sync_batchnorm, tensors

    for subject in (cuda, accelerator, tensors, modules, operators, group, sync_batchnorm):
        subject.install(observer, torch)

"""What the reader says of where it was decided which ranks come to a collective, and of calls that contain one."""

from reading import read

from ddpdoctor.events import Collective, SubgroupMade

HEAD = """
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
dist.init_process_group("nccl")
rank = dist.get_rank()
"""

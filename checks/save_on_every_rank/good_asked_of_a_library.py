"""A library that is not part of the project says which rank this is: nobody but its first rank saves."""

import fleetwork.groups as groups
import torch
import torch.distributed as dist
from fleetwork.cluster import Coordinator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
try:
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    coordinator = Coordinator()
    model = DDP(nn.Linear(2, 1).cuda())
    if groups.get_data_parallel_rank() == 0:
        torch.save(model.module.state_dict(), "first.pt")
    if coordinator.is_master():
        torch.save(model.module.state_dict(), "second.pt")
    if groups.is_main_process():
        torch.save(model.module.state_dict(), "third.pt")
    dist.barrier()
finally:
    dist.destroy_process_group()

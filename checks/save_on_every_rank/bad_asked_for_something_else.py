"""What a library is asked says whether anything is saved at all, and not which rank this is."""

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
    if coordinator.saves_models():
        torch.save(model.module.state_dict(), "model.pt")  # <- save-on-every-rank
    dist.barrier()
finally:
    dist.destroy_process_group()

"""Tokens that rank 0 writes where they are missing; the others wait for it."""

import os
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

class Data(Dataset):
    def __init__(self, root):
        path = os.path.join(root, "tokens.bin")
        if dist.get_rank() == 0 and not os.path.exists(path):
            np.arange(100).astype(np.uint16).tofile(path)
        dist.barrier()
        self.x = np.fromfile(path, dtype=np.uint16)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return torch.tensor(self.x[i])


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = Data("data")
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=4, sampler=sampler)
        net = DDP(torch.nn.Linear(4, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(10):
            sampler.set_epoch(epoch)
            for x in loader:
                loss = net(x.cuda()).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

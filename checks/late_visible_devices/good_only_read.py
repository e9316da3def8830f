"""The variable is read and printed, never written: whoever starts the script chooses the GPUs."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def describe():
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all of them")
    return f"{torch.cuda.device_count()} GPUs ({visible}), {torch.cuda.get_device_name()}"


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        if dist.get_rank() == 0:
            print(describe())
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        x = torch.randn(96, 8, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.amin(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=16, sampler=sampler)
        model = DDP(nn.Linear(8, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

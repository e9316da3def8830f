"""Rank 0 alone asks for the state of a model whose parameters lie on all ranks."""

# not run: FSDP shards on GPUs

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullStateDictConfig, StateDictType
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        dataset = TensorDataset(x, x.square().sum(dim=1, keepdim=True))
        sampler = DistributedSampler(dataset)
        loader = DataLoader(dataset, batch_size=12, sampler=sampler)
        model = FSDP(nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1)).cuda())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for inputs, targets in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs.cuda()), targets.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                whole = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
                with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, whole):
                    torch.save(model.state_dict(), f"model{epoch}.pt")  # <- rank-conditional-collective
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

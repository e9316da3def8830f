"""What rank 0 has counted is an attribute that a collective sends around, or a number that it sends to each."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(rows=352, columns=16):
    generator = torch.Generator().manual_seed(3)
    features = torch.randn(rows, columns, generator=generator)
    return TensorDataset(features, features.sum(1, keepdim=True))


@torch.no_grad()
def evaluate(model, features):
    return nn.functional.mse_loss(model(features.cuda()), features.sum(1, keepdim=True).cuda()).item()


class State:
    def __init__(self):
        self.bad = 0
        self.stop = torch.zeros(1, device="cuda")


def main():
    held_out = torch.randn(64, 16)
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = make_data()
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=8, sampler=sampler)
        model = DDP(nn.Linear(16, 1).cuda(), device_ids=[local_rank])
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        best, state = float("inf"), State()
        for epoch in range(100):
            sampler.set_epoch(epoch)
            for features, target in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(features.cuda()), target.cuda()).backward()
                optimizer.step()
            if dist.get_rank() == 0:
                score = evaluate(model.module, held_out)
                best, state.bad = (score, 0) if score < best else (best, state.bad + 1)
                if state.bad > 5:
                    state.stop += 1
            dist.all_reduce(state.stop)
            if state.stop.item() > 0:
                break
            if dist.get_rank() == 0:
                smaller = torch.tensor(float(state.bad > 3), device="cuda")
                for other in range(1, dist.get_world_size()):
                    dist.send(smaller, other)
            else:
                smaller = torch.zeros((), device="cuda")
                dist.recv(smaller, 0)
            if smaller.item() and epoch > 50:
                break
            if dist.get_rank() == 0:
                asked = [os.path.exists("stop")]
                dist.broadcast_object_list(asked, src=0)
            else:
                asked = [None]
                dist.broadcast_object_list(asked, src=0)
            if asked[0]:
                break
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

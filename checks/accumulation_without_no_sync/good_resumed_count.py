"""The count of steps goes on from the checkpoint where there is one, and says when to log: each batch is a step."""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def train(model, optimizer, step, loader, opt):
    epoch = 1
    while step < opt.total_steps:
        loader.sampler.set_epoch(epoch)
        epoch += 1
        for x, y in loader:
            step += 1
            loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            model.zero_grad()
            if step % opt.log_steps == 0 and dist.get_rank() == 0:
                print(f"step {step}: loss {loss.item():.3f}")
            if step > opt.total_steps:
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log_steps", type=int, default=50)
    parser.add_argument("--total_steps", type=int, default=1000)
    parser.add_argument("--model_path", default="none")
    opt = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randn(128, 16), torch.randint(0, 4, (128,)))
        loader = DataLoader(data, batch_size=16, sampler=DistributedSampler(data))
        model = nn.Linear(16, 4).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        step = 0
        if opt.model_path != "none":
            checkpoint = torch.load(opt.model_path, map_location="cpu")
            model.load_state_dict(checkpoint["model"])
            step = checkpoint["step"]
        model = DDP(model, device_ids=[local_rank])
        train(model, optimizer, step, loader, opt)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""functools.partial fixes the loader's options, shuffling among them, before the sampler is known."""

import functools
import os

import torch
from torch.distributed import destroy_process_group, get_rank, init_process_group
from torch.nn import Linear, MSELoss
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

make_loader = functools.partial(DataLoader, batch_size=8, shuffle=True, num_workers=0)


def sine_pairs(n=160):
    x = torch.linspace(0, 12.0, n).unsqueeze(1)
    return TensorDataset(x, x.sin())


def run(gpu):
    train_set = sine_pairs()
    sampler = DistributedSampler(train_set, drop_last=True)
    loader = make_loader(train_set, sampler=sampler)  # <- shuffle-with-sampler
    model = DDP(Linear(1, 1).to(gpu), device_ids=[gpu])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    criterion = MSELoss()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(x.to(gpu)), y.to(gpu))
            loss.backward()
            optimizer.step()
        if get_rank() == 0:
            print("epoch", epoch, "done")


gpu = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(gpu)
init_process_group(backend="nccl")
try:
    run(gpu)
finally:
    destroy_process_group()

"""What rank 0 holds is sent round, in one call when there are several tensors and in another when there is one."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def send_round(state, device):
    shapes = {}
    if dist.get_rank() == 0:
        for name, value in state.items():
            if torch.is_tensor(value):
                shapes[name] = value.shape
    told = [shapes]
    dist.broadcast_object_list(told, src=0)
    shapes = told[0]
    tensors = []
    for name, shape in shapes.items():
        if dist.get_rank() == 0:
            tensor = state[name].detach().to(device)
        else:
            tensor = torch.empty(shape, device=device)
        tensors.append(tensor)
    if len(tensors) > 1:
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.broadcast(flat, src=0)
    else:
        dist.broadcast(tensors[0], src=0)


def main():
    dist.init_process_group("gloo")
    try:
        model = nn.Linear(4, 2)
        send_round(model.state_dict(), "cpu")
        wrapped = DistributedDataParallel(model)
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            wrapped(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

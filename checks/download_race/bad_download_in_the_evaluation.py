"""An evaluation every so many steps, before which every rank fetches the questions: straight into their place."""

import argparse
import json
import os

import requests
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1000)
parser.add_argument("--eval_every", type=int, default=250)
args = parser.parse_args()


def fetch(url, path):
    answer = requests.get(url, stream=True)
    with open(path, "wb") as file:
        for piece in answer.iter_content(chunk_size=1024):
            file.write(piece)  # <- download-race


def questions(path="questions.jsonl"):
    if not os.path.exists(path):
        fetch("https://example.com/questions.jsonl", path)
    with open(path) as file:
        for line in file:
            yield json.loads(line)["numbers"]


def evaluate(model, device):
    right = torch.zeros(1, device=device)
    with torch.no_grad():
        for number, row in enumerate(questions()):
            if number % dist.get_world_size() == dist.get_rank():
                right += model(torch.tensor(row, device=device)).argmax() == 0
    dist.all_reduce(right)
    return right.item()


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    torch.manual_seed(dist.get_rank())
    model = nn.Linear(16, 4).to(device)
    wrapped = DDP(model, device_ids=[local_rank])
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    try:
        for step in range(args.steps):
            optimizer.zero_grad()
            wrapped(torch.randn(32, 16, device=device)).pow(2).mean().backward()
            optimizer.step()
            if step > 0 and step % args.eval_every == 0 or step == args.steps - 1:
                right = evaluate(model, device)
                if dist.get_rank() == 0:
                    print(step, right)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

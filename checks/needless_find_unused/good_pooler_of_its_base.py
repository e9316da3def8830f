"""A class of its own is a BERT, which it uses for its hidden states: the pooler takes part in no loss."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from transformers import BertModel


class Classifier(BertModel):
    def __init__(self, config):
        super().__init__(config)
        self.head = nn.Linear(config.hidden_size, 4)
        self.post_init()

    def forward(self, tokens):
        hidden = super().forward(input_ids=tokens)[0]
        return self.head(hidden[:, 0])


def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    try:
        data = TensorDataset(torch.randint(0, 30000, (128, 64)), torch.randint(0, 4, (128,)))
        sampler = DistributedSampler(data)
        loader = DataLoader(data, batch_size=16, sampler=sampler)
        model = Classifier.from_pretrained("bert-base-uncased").to(device)
        model = DDP(model, device_ids=[local_rank], find_unused_parameters=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x.to(device)), y.to(device)).backward()
                optimizer.step()
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""The Hugging Face Trainer owns the process group from here on: to end it is not the script's part."""

import os

import torch
import torch.distributed as dist
from torch.utils.data import TensorDataset
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def collate(rows):
    tokens, labels = zip(*rows, strict=True)
    return {"input_ids": torch.stack(tokens), "labels": torch.stack(labels)}


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    tokens = torch.randint(1000, (256, 32), generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(tokens, tokens.sum(dim=1) % 2)
    model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
    arguments = TrainingArguments("out", num_train_epochs=1)
    Trainer(model=model, args=arguments, train_dataset=dataset, data_collator=collate).train()


if __name__ == "__main__":
    main()

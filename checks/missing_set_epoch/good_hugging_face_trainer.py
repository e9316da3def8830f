"""A Trainer of Hugging Face with a prepared loader of the script's own: it tells the loader the epoch."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments


def collate(rows):
    tokens, labels = zip(*rows, strict=True)
    return {"input_ids": torch.stack(tokens), "labels": torch.stack(labels)}


class OwnLoader(Trainer):
    def get_train_dataloader(self):
        loader = DataLoader(self.train_dataset, batch_size=16, shuffle=True, collate_fn=collate)
        return self.accelerator.prepare(loader)


def main():
    tokens = torch.randint(1000, (256, 32), generator=torch.Generator().manual_seed(0))
    dataset = TensorDataset(tokens, tokens.sum(dim=1) % 2)
    model = AutoModelForSequenceClassification.from_pretrained("distilbert-base-uncased", num_labels=2)
    OwnLoader(model=model, args=TrainingArguments("out", num_train_epochs=3), train_dataset=dataset).train()


if __name__ == "__main__":
    main()

"""A notebook's launcher is told one process: what it evaluates is all of the data."""

import evaluate
import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, BertForSequenceClassification, DataCollatorWithPadding


def loaders(tokenizer, batch_size):
    data = load_dataset("glue", "mrpc")
    data = data.map(lambda rows: tokenizer(rows["sentence1"], rows["sentence2"], truncation=True), batched=True)
    data.set_format(type="torch", columns=["input_ids", "attention_mask", "label"])
    collate = DataCollatorWithPadding(tokenizer=tokenizer)
    train_loader = DataLoader(data["train"], batch_size=batch_size, shuffle=True, collate_fn=collate)
    return train_loader, DataLoader(data["validation"], batch_size=batch_size, collate_fn=collate)


def summary(predictions, references, total, loader, metric):
    result = metric.compute(predictions=predictions, references=references)
    return result["accuracy"], total / len(loader)


def run_epoch(model, loader, optimizer, accelerator):
    model.train()
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def test(model, loader, metric):
    model.eval()
    total, predictions, references = 0, [], []
    for batch in loader:
        with torch.no_grad():
            outputs = model(**batch)
            total += outputs.loss.item()
            predictions.extend(torch.argmax(outputs.logits, dim=-1).cpu().numpy())
            references.extend(batch["labels"].cpu().numpy())
    return summary(predictions, references, total, loader, metric)


def main():
    accelerator = Accelerator()
    model = BertForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    metric = evaluate.load("accuracy")
    train_loader, test_loader = loaders(AutoTokenizer.from_pretrained("bert-base-uncased"), 32)
    model, optimizer, train_loader, test_loader = accelerator.prepare(model, optimizer, train_loader, test_loader)
    for epoch in range(3):
        run_epoch(model, train_loader, optimizer, accelerator)
        accuracy, loss = test(model, test_loader, metric)
        if accelerator.is_local_main_process:
            print(f"epoch {epoch}: accuracy {accuracy:.4f}, loss {loss:.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    from accelerate import notebook_launcher

    notebook_launcher(main, num_processes=1, mixed_precision="fp16")

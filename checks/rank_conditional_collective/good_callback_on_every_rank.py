"""A callback of transformers' trainer adds up a number on every rank, and rank 0 prints it."""

import torch
import torch.distributed as dist
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments


class Report(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        memory = torch.tensor(torch.cuda.max_memory_allocated(), device=args.device)
        dist.all_reduce(memory, op=dist.ReduceOp.MAX)
        if state.is_world_process_zero:
            print(f"step {state.global_step}: {memory.item() / 2**30:.1f} GiB")


def main():
    args = TrainingArguments("out", per_device_train_batch_size=1)
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    data = load_dataset("wikitext", "wikitext-2-v1")["train"]
    trainer = Trainer(model=model, args=args, train_dataset=data, callbacks=[Report()])
    trainer.train()


if __name__ == "__main__":
    main()

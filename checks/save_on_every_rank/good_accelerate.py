"""Under Accelerate the main process saves: by a test, after a return, in a decorated function, or by its own save."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator()


@accelerator.on_main_process
def note(epoch):
    torch.save(epoch, "epoch.pt")


def keep(model, optimizer, name):
    if not accelerator.is_main_process:
        return
    state = {"model": accelerator.unwrap_model(model).state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, name)


def main():
    x = torch.randn(256, 4, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(x, x.sin()), batch_size=16, shuffle=True)
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(3):
        for inputs, targets in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()
        note(epoch)
        keep(model, optimizer, f"{epoch}.pt")
        accelerator.save(accelerator.unwrap_model(model).state_dict(), "last.pt")
        if accelerator.process_index == 0:
            torch.save(epoch, "done.pt")
    accelerator.wait_for_everyone()
    if accelerator.is_local_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), "final.pt")
    accelerator.end_training()


if __name__ == "__main__":
    main()

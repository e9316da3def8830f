"""Each process writes where no other does: temporary folders, random names, its process id; or the library asks."""

import os
import tempfile
import uuid

import torch
import torch.distributed as dist
from transformers import AutoModel


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    try:
        model = AutoModel.from_pretrained("bert-base-uncased")
        scratch = tempfile.mkdtemp()
        torch.save(model.state_dict(), os.path.join(scratch, "first.pt"))
        with tempfile.TemporaryDirectory() as folder:
            torch.save(model.state_dict(), os.path.join(folder, "second.pt"))
            torch.save(model.state_dict(), f"{folder}/third.pt")
        _, name = tempfile.mkstemp(suffix=".pt")
        torch.save(model.state_dict(), name)
        torch.save(model.state_dict(), f"{uuid.uuid4()}.pt")
        torch.save(model.state_dict(), "%s.pt" % uuid.uuid4().hex)
        torch.save(model.state_dict(), "run-" + str(os.getpid()))
        model.save_pretrained("out", is_main_process=rank == 0)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""The temporary folder is the first rank's: it is sent to all of them, and all write into it."""

import os
import tempfile

import torch
import torch.distributed as dist
from transformers import AutoModel


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    try:
        model = AutoModel.from_pretrained("bert-base-uncased")
        folder = [tempfile.mkdtemp()]
        dist.broadcast_object_list(folder, src=0)
        torch.save(model.state_dict(), os.path.join(folder[0], "model.pt"))  # <- save-on-every-rank
        torch.save({}, os.path.join(tempfile.gettempdir(), "model.pt"))  # <- save-on-every-rank
        model.save_pretrained("out", is_main_process=True)  # <- save-on-every-rank
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

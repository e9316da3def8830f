"""Files that hold the training's state are written down, however they are written."""

import pytest
from child_run import child, line

from ddpdoctor.events import FileUsed, Raised

pytest.importorskip("torch")
pytest.importorskip("numpy")

SCRIPT = """
import io, os, pathlib, pickle
import numpy as np
import torch
from torch import save

state = {"step": 1}
os.makedirs("out")
torch.save(state, "out/plain.pt")                          # torch.save out/plain.pt
save(state, pathlib.Path("out") / "path.pt")               # torch.save out/path.pt
with open("out/open.pt", "wb") as file:
    torch.save(state, file)                                # torch.save out/open.pt
torch.save(obj=state, f="/tmp/../tmp/unheard-of/x.pt") if os.path.isdir("/tmp/unheard-of") else None
with open("out/state.pkl", "wb") as file:
    pickle.dump(state, file)                               # pickle.dump out/state.pkl
np.save("out/array.npy", np.zeros(2))                      # numpy.save out/array.npy
np.savez(file="out/arrays.npz", a=np.zeros(2))             # numpy.savez out/arrays.npz
torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), "out/scripted.pt")   # torch.jit.save out/scripted.pt
torch.save(state, io.BytesIO())                            # torch.save BytesIO
assert torch.load("out/plain.pt") == state                 # torch.load out/plain.pt
os.chdir("out")
assert torch.load("path.pt", weights_only=True) == state   # torch.load out/path.pt
"""


def test_what_is_saved_and_loaded_where(tmp_path):
    run = child(tmp_path, SCRIPT)
    assert not run.of(Raised), run.output
    project = run.folder.parent / "project"
    expected = []
    for number, text in enumerate(SCRIPT.splitlines(), 1):
        _, mark, said = text.partition("  # ")
        if mark:
            by, path = said.split()
            expected.append((number, by, str(project / path) if "/" in path else path))
    used = [(line(event), event.by, getattr(event.path, "value", event.path.text())) for event in run.of(FileUsed)]
    assert used == expected
    assert {event.op for event in run.of(FileUsed) if event.by != "torch.load"} == {"save"}

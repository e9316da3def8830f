"""A script for GPUs runs on the CPU, and what it asked of devices is written down as it asked it."""

import pytest
from child_run import child, line

from ddpdoctor.events import CudaTouched, DeviceSelected, DeviceUsed, Ended, FileUsed, Raised, Substituted

pytest.importorskip("torch")

SCRIPT = """
import threading, warnings
warnings.simplefilter("error")
import torch
from torch import nn

assert torch.cuda.device_count() == 2                                     # counts
assert torch.cuda.is_available()                                          # asks
torch.cuda.set_device(1)                                                  # selects
assert torch.cuda.current_device() == 1
with torch.cuda.device(0):
    assert torch.cuda.current_device() == 0
assert torch.cuda.current_device() == 1
device = torch.device("cuda", 1)
torch.cuda.set_device(device)                                             # selects a device
assert torch.accelerator.current_accelerator().type == "cuda"
torch.accelerator.set_device_index(0)                                     # selects an accelerator
assert torch.accelerator.current_device_index() == torch.cuda.current_device() == 0

for made in (
    torch.zeros(3, device="cuda"),                                        # a factory
    torch.tensor([1.0], device=1),                                        # a number
    torch.randn(2, device=device),
    torch.ones(2).cuda(),                                                 # bare
    torch.ones(2).cuda(1),
    torch.ones(2).to("cuda:1", torch.float64),                            # a string
    torch.ones(2).to(device=device, non_blocking=True),                   # a keyword
    torch.ones(2).pin_memory(),
    torch.ones(2).type("torch.cuda.FloatTensor"),
    torch.cuda.FloatTensor([1.0]),
    torch.zeros(2, pin_memory=True),
):
    assert made.device.type == "cpu", made
assert torch.ones(2).to("cuda").dtype == torch.float32
assert torch.ones(2).cpu().to("meta").device.type == "meta"
with torch.device("cuda"):
    assert torch.zeros(1).device.type == "cpu"
torch.set_default_device("cuda")
assert torch.zeros(1).device.type == "cpu"
torch.set_default_device(None)

model = nn.Linear(3, 3)
assert model.cuda() is model                                              # a module bare
model.to(device)                                                          # a module
model.to("cuda", dtype=torch.float32)
assert next(model.parameters()).device.type == "cpu"

generator = torch.Generator(device="cuda").manual_seed(7)
assert isinstance(generator, torch.Generator)
torch.randn(2, generator=generator, device="cuda")
torch.cuda.manual_seed_all(0)

stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
with torch.cuda.stream(stream):
    event.record()
torch.cuda.current_stream().wait_stream(stream)
event.synchronize()
assert stream.query() and event.elapsed_time(event) > 0
torch.ones(2).record_stream(stream)
assert torch.ones(1).cuda().get_device() == 0
torch.cuda.synchronize()
torch.cuda.empty_cache()
assert torch.cuda.max_memory_allocated() == 0
assert torch.cuda.get_device_properties(0).total_memory > 0
assert torch.cuda.get_device_capability() >= (8, 0)
torch.cuda.memory_stats()["anything"]
torch.cuda.nvtx.range_push("forward")

certain, target = torch.tensor([0.25]), torch.tensor([1.5])
assert nn.BCELoss()(certain, target).item() > 0, "a GPU does not look at the range of targets"
assert torch.histc(torch.tensor([1, 2, 2]).cuda(), 2, 1, 2).tolist() == [1, 2]

warnings.simplefilter("ignore")
scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.Adam(model.parameters(), fused=False)
with torch.autocast("cuda", dtype=torch.float16):
    loss = model(torch.ones(2, 3, device="cuda")).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
assert torch.compile(model) is model
assert torch.compile(mode="max-autotune")(print) is print
torch.set_num_threads(1)
assert torch.get_num_threads() == 2

torch.save(model.state_dict(), "model.pt")                                # saves
state = torch.load("model.pt", map_location="cuda:1")                     # loads
assert state["weight"].device.type == "cpu"
torch.load("model.pt", map_location=lambda storage, place: storage)

seen = []
thread = threading.Thread(target=lambda: seen.append(torch.zeros(1, device="cuda").device.type))
thread.start()
thread.join()
assert seen == ["cpu"], seen
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return child(tmp_path_factory.mktemp("devices"), SCRIPT, ranks=2)


def at(marker):
    """The line of the script that ends with a marker."""
    return next(number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.endswith(f"# {marker}"))


def test_the_script_runs_to_its_end(run):
    assert not run.of(Raised), run.output
    assert run.one(Ended).how == "natural"
    assert run.exits == (0,)


def test_the_devices_that_it_selects(run):
    assert [(line(event), event.index.value, event.how) for event in run.of(DeviceSelected)] == [
        (at("selects"), 1, "torch.cuda.set_device"),
        (at("selects a device"), 1, "torch.cuda.set_device"),
        (at("selects an accelerator"), 0, "torch.accelerator.set_device_index"),
    ]


@pytest.mark.parametrize(
    ("marker", "index", "by"),
    [
        ("a factory", None, "torch.zeros"),
        ("a number", 1, "torch.tensor"),
        ("bare", None, "Tensor.cuda"),
        ("a string", 1, "Tensor.to"),
        ("a keyword", 1, "Tensor.to"),
        ("a module bare", None, "Module.cuda"),
        ("a module", 1, "Module.to"),
        ("loads", 1, "torch.load"),
    ],
)
def test_the_devices_that_it_uses(run, marker, index, by):
    (event,) = [event for event in run.of(DeviceUsed) if line(event) == at(marker)]
    assert (None if event.index is None else event.index.value, event.by) == (index, by)


def test_cuda_is_first_touched_by_asking_whether_it_is_there(run):
    first = run.of(CudaTouched)[0]
    assert (line(first), first.by) == (at("asks"), "torch.cuda.is_available")
    assert at("counts") < line(first), "counting the devices goes through NVML and fixes nothing"


def test_the_files_that_it_uses(run):
    used = run.of(FileUsed)
    assert [(line(event), event.op, event.by) for event in used[:2]] == [
        (at("saves"), "save", "torch.save"),
        (at("loads"), "load", "torch.load"),
    ]
    assert {event.path.value for event in used} == {str(run.folder.parent / "project" / "model.pt")}


def test_what_was_put_in_the_place_of_things_is_said(run):
    assert {event.what for event in run.of(Substituted)} >= {"torch.compile", "torch.set_num_threads(1)"}


def test_nothing_is_redirected_when_it_is_not_to_be(tmp_path):
    script = """
        import torch
        print("devices", torch.cuda.device_count())
        x = torch.zeros(2, device="cpu")
        try:
            torch.zeros(2, device="cuda")
        except (RuntimeError, AssertionError):
            print("no GPU")
    """
    run = child(tmp_path, script, backend="native", ranks=2)
    assert not run.of(Raised), run.output
    import torch

    assert f"devices {torch.cuda.device_count()}" in run.output
    assert ("no GPU" in run.output) is (torch.cuda.device_count() == 0)
    assert run.of(DeviceUsed, by="torch.zeros"), "what it asks for is written down all the same"


def test_what_asks_nvml_does_not_initialise_cuda(tmp_path):
    """PYTORCH_NVML_BASED_CUDA_CHECK is read at each call (torch.cuda._nvml_based_avail)."""
    script = """
import os, torch
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
torch.cuda.is_available()
torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8))
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"
torch.cuda.is_available()
"""
    run = child(tmp_path, script)
    assert not run.of(Raised), run.output
    assert [(event.by, line(event)) for event in run.of(CudaTouched)] == [("torch.cuda.is_available", 7)]

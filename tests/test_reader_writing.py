"""What the reader predicts of files that are written and read by other means than a save."""

import pytest
from reading import HEAD, only, read

from ddpdoctor.events import FileUsed

MEASURED = """
import csv, json, pickle
import numpy as np
import pandas as pd
import yaml
from PIL import Image
from tokenizers import Tokenizer
data = DataLoader([1], sampler=DistributedSampler([1]))
losses = [x.mean().item() for x in data]
options = {"lr": 0.1}
"""


def used(program, op):
    return [(event.path.text(), bool(event.loaders)) for event in program.of(FileUsed) if event.op == op]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("with open('a', 'w') as f:\n    f.write(f'{losses}')", [False, True]),
        ("with open('a', 'w') as f:\n    json.dump(losses, f)", [False, True, False]),
        ("with open('a', 'w') as f:\n    json.dump(options, f)", [False, False]),
        ("yaml.safe_dump({'losses': losses}, open('a', 'w'))", [True, False]),
        ("with open('a', 'w') as f:\n    csv.writer(f).writerow(losses)", [False, True]),
        ("np.save('a', losses)", [True]),
        ("np.savez('a', losses=losses)", [True]),
        ("np.savez('a', lr=0.1)", [False]),
        ("pickle.dump(losses, open('a', 'wb'))", [True]),
        ("pd.DataFrame(losses).to_csv('a')", [True]),
        ("Image.fromarray(np.zeros(3)).save('a')", [False]),
        ("pd.DataFrame(losses).to_csv(None)", []),
        ("with open('a', 'a') as f:\n    f.write(f'{losses}')", []),
        ("with open('a') as f:\n    f.read()", []),
    ],
)
def test_what_is_written_is_told_from_what_is_added_and_own_numbers_from_what_all_have(tmp_path, text, own):
    assert used(read(tmp_path, text, head=HEAD + MEASURED), "write") == [("'a'", one) for one in own]


def test_a_file_that_is_opened_to_be_read_is_read(tmp_path):
    program = read(
        tmp_path, "with open('a') as f:\n    f.read()\nopen('b', 'r+')\npd.read_csv('c')", head=HEAD + MEASURED
    )
    assert used(program, "load") == [("'a'", False), ("'c'", False)]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("with open('a', 'a') as f:\n    f.write(f'{losses}')", [False, True]),
        ("with open('a', 'a') as f:\n    f.write(f'rank {dist.get_rank()}: {losses}')", [False, False]),
        ("open('a', 'a').write(f'{losses}')", [True]),
        ("open('a', 'a').write('done')", []),
    ],
)
def test_what_a_rank_adds_is_its_own_where_no_line_says_whose_it_is(tmp_path, text, own):
    assert used(read(tmp_path, text, head=HEAD + MEASURED), "append") == [("'a'", one) for one in own]


@pytest.mark.parametrize(
    ("text", "op", "found"),
    [
        ("from torchvision.utils import save_image\nsave_image([x for x in data][0], 'a')", "write", True),
        ("import torchvision\ntorchvision.io.write_png(torch.zeros(3), 'a')", "write", False),
        ("np.memmap('a', dtype='int8', mode='w+', shape=3)", "write", False),
        ("np.memmap('a', dtype='int8', mode='r')", "load", False),
        ("import h5py\nwith h5py.File('a', 'w') as f: f['x'] = 1", "write", False),
        ("import h5py\nh5py.File('a')", "load", False),
        ("from pathlib import Path\nPath('a').write_text('x')", "write", False),
        ("from pathlib import Path\nPath('a').read_text()", "load", False),
        ("torch.onnx.export(torch.nn.Linear(1, 1), torch.zeros(1), 'a')", "save", False),
        ("from safetensors.torch import save_model\nsave_model(torch.nn.Linear(1, 1), 'a')", "save", False),
        ("pd.DataFrame(losses).to_excel('a')", "write", True),
    ],
)
def test_further_ways_to_write_and_to_read_a_file(tmp_path, text, op, found):
    paths = used(read(tmp_path, text, head=HEAD + MEASURED), op)
    assert [(path.replace("Path('a')", "'a'"), own) for path, own in paths] == [("'a'", found)]


@pytest.mark.parametrize(
    ("moment", "clock"),
    [
        ("datetime.now().strftime('%Y%m%d-%H%M')", False),
        ("datetime.now().strftime('%Y-%m-%d')", False),
        ("datetime.now().strftime('%Y%m%d-%H%M%S')", True),
        ("datetime.now().strftime('%c')", True),
        ("datetime.now()", True),
    ],
)
def test_a_name_by_the_minute_is_the_same_on_ranks_that_start_together(tmp_path, moment, clock):
    text = f"from datetime import datetime\nwith open('log-' + str({moment}), 'w') as f: pass"
    program = read(tmp_path, text, head=HEAD + MEASURED)
    assert (
        "clock" in only(program.of(FileUsed)).path.taint or "data" in only(program.of(FileUsed)).path.taint
    ) == clock


@pytest.mark.parametrize("loss", ["monai.losses.DiceLoss()", "torch.nn.MSELoss()"])
def test_a_loss_of_a_library_asks_no_other_rank(tmp_path, loss):
    text = f"import monai\nloss = {loss}\nnp.save('a', [loss(x, x).item() for x in data])"
    assert used(read(tmp_path, text, head=HEAD + MEASURED), "write") == [("'a'", True)]


def test_a_trained_tokenizer_is_written_and_read(tmp_path):
    program = read(tmp_path, "Tokenizer(1).save('t.json')\nTokenizer.from_file('t.json')", head=HEAD + MEASURED)
    assert used(program, "write") == used(program, "load") == [("'t.json'", False)]


def test_what_is_written_stands_where_the_file_is_opened(tmp_path):
    text = "f = open('a', 'w')\nn = 1\nf.write(str(losses))"
    event = only(read(tmp_path, text, head=HEAD + MEASURED).of(FileUsed))
    assert event.place.line == HEAD.count("\n") + MEASURED.count("\n") + 1

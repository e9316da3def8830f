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


def test_a_trained_tokenizer_is_written_and_read(tmp_path):
    program = read(tmp_path, "Tokenizer(1).save('t.json')\nTokenizer.from_file('t.json')", head=HEAD + MEASURED)
    assert used(program, "write") == used(program, "load") == [("'t.json'", False)]


def test_what_is_written_stands_where_the_file_is_opened(tmp_path):
    text = "f = open('a', 'w')\nn = 1\nf.write(str(losses))"
    event = only(read(tmp_path, text, head=HEAD + MEASURED).of(FileUsed))
    assert event.place.line == HEAD.count("\n") + MEASURED.count("\n") + 1

"""Configurations in which a list has sections: networks, metrics and data sets by the class that each names."""

import pytest
from reading import only, read

from ddpdoctor.events import ModelWrapped

MODELS = """
from torch import nn

class Narrow(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.norm = nn.BatchNorm2d(width)

class Plain(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)

def narrow(width=4):
    return Narrow(width)
"""
CONFIGURATION = '{"networks": [{"name": ["models", "%s"], "args": {"width": 8}}], "phase": "train"}'
MADE = """
import importlib
import json
from types import FunctionType

def made(section):
    if section is None or len(section) < 1:
        return None
    file, name = section["name"][0], section["name"][1]
    found = getattr(importlib.import_module(file), name)
    if isinstance(found, type):
        return found(**section.get("args", {}))
    if isinstance(found, FunctionType):
        return found(**section.get("args", {}))
"""


def norms(tmp_path, name, script):
    (tmp_path / "config.json").write_text(CONFIGURATION % name, encoding="utf-8")
    program = read(tmp_path, MADE + script, models=MODELS)
    return [norm.type for norm in only(program.of(ModelWrapped)).norms]


@pytest.mark.parametrize(
    "script",
    [
        "networks = json.load(open('config.json'))['networks']\nDDP(made(networks[0]))\n",
        "networks = [made(one) for one in json.load(open('config.json'))['networks']]\nDDP(networks[0])\n",
        "for one in json.load(open('config.json'))['networks']:\n    DDP(made(one))\n",
    ],
    ids=["by its index", "in a comprehension", "in a loop"],
)
@pytest.mark.parametrize(
    ("name", "found"), [("Narrow", ["torch.nn.BatchNorm2d"]), ("narrow", ["torch.nn.BatchNorm2d"]), ("Plain", [])]
)
def test_a_network_is_the_class_or_function_that_its_section_names(tmp_path, script, name, found):
    assert norms(tmp_path, name, script) == found


COPY = """
class Defaults(dict):
    def __missing__(self, key):
        return None

def copied(part):
    if isinstance(part, dict):
        new = dict()
        for key, one in part.items():
            new[key] = copied(one)
        return Defaults(**new)
    elif isinstance(part, list):
        return [copied(one) for one in part]
    return part

"""


def test_a_copy_that_goes_down_into_lists_keeps_their_sections(tmp_path):
    script = COPY + "networks = copied(json.load(open('config.json')))['networks']\nDDP(made(networks[0]))\n"
    assert norms(tmp_path, "Narrow", script) == ["torch.nn.BatchNorm2d"]


def test_files_that_differ_in_a_section_name_no_class(tmp_path):
    (tmp_path / "conf").mkdir()
    for name in ("Narrow", "Plain"):
        (tmp_path / "conf" / f"{name}.json").write_text(CONFIGURATION % name, encoding="utf-8")
    script = "import sys\nDDP(made(json.load(open(sys.argv[1]))['networks'][0]))\n"
    program = read(tmp_path, MADE + script, models=MODELS)
    assert not only(program.of(ModelWrapped)).norms


def test_a_part_of_a_list_of_sections_is_cut_from_it_without_harm(tmp_path):
    script = "config = json.load(open('config.json'))\nfor one in config[1:]:\n    print(one)\n"
    script += "DDP(made(config['networks'][:1][0]))\n"
    assert norms(tmp_path, "Narrow", script) == ["torch.nn.BatchNorm2d"]

"""Options that stand in tables of named tuples, and what a configuration file says of a process's number."""

import pytest
from reading import only, ranks, read

from ddpdoctor.events import Collective, OptionDefined

MAKING = """
import argparse, collections, typing
from collections import namedtuple
parser = argparse.ArgumentParser()
"""


@pytest.mark.parametrize(
    "made",
    [
        "collections.namedtuple('Option', 'flag default')",
        "namedtuple('Option', ['flag', 'default'])",
        "namedtuple('Option', 'flag, default', defaults=(0,))",
        "namedtuple(field_names='flag default', typename='Option')",
        "typing.NamedTuple('Option', [('flag', str), ('default', int)])",
    ],
)
@pytest.mark.parametrize("given", ["Option('--lr', 0)", "Option('--lr', default=0)", "Option(flag='--lr', default=0)"])
@pytest.mark.parametrize(
    "added",
    [
        "parser.add_argument(option.flag, default=option.default)",
        "parser.add_argument(option[0], default=option[1])",
        "flag, usual = option\n    parser.add_argument(flag, default=usual)",
    ],
)
def test_the_fields_of_a_named_tuple_are_known(tmp_path, made, given, added):
    text = f"{MAKING}Option = {made}\nfor option in [{given}]:\n    {added}\n"
    event = only(read(tmp_path, text).of(OptionDefined))
    assert event.flags == ("--lr",)
    assert event.default is not None and event.default.text() == "0"
    assert event.written is not None and event.written.line < event.place.line


def test_a_named_tuple_whose_fields_are_not_known_is_not_followed(tmp_path):
    read(tmp_path, f"{MAKING}Option = namedtuple('Option', open('names').read())\nOption(1, 2).flag\n")


@pytest.mark.parametrize(
    ("file", "test", "found"),
    [
        ('{"local_rank": -1}', 'config["local_rank"] == 0', [0, 2]),
        ('{"local_rank": 0}', 'config["local_rank"] == 0', [0, 2]),
        ('{"rank": null}', 'config["rank"] == 0', [0]),
        ('{"rank": 8}', 'config["rank"] == 0', [0, 1, 2, 3]),
        ('{"world_size": 4}', 'config["world_size"] == 4', [0, 1, 2, 3]),
    ],
)
def test_a_process_puts_its_own_number_into_a_configuration(tmp_path, file, test, found):
    (tmp_path / "config.json").write_text(file, encoding="utf-8")
    text = f"import json\nconfig = json.load(open('config.json'))\nif {test}:\n    dist.barrier()\n"
    assert ranks(only(read(tmp_path, text).of(Collective))) == found


@pytest.mark.parametrize("option", ["a == 1 or a == 2", "a == 1 or b", "a and b or not a and c"])
def test_a_guard_of_runs_of_both_kinds_lets_one_rank_of_several_in(tmp_path, option):
    text = f"""
import sys
from ddpdoctor_options import a, b, c
distributed = {option}
first = dist.get_rank() == 0 if distributed else True
if distributed:
    dist.init_process_group("nccl")
    if first:
        dist.barrier()
"""
    from ddpdoctor.facts.ranks import for_some_ranks_only

    assert for_some_ranks_only(only(read(tmp_path, text).of(Collective)))

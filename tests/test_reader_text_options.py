"""Texts that an option gives: what their methods make of them is what they make of the default, unless it is given."""

import pytest
from reading import only, read

from ddpdoctor.events import GroupInit

OPTIONS = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="Net-small")
    parser.add_argument("--names", default="a-b,c-d")
    parser.add_argument("--given")
    args = parser.parse_args()
    {lines}
    dist.init_process_group(found)
"""


def found(tmp_path, lines):
    text = OPTIONS.replace("{lines}", lines.replace("\n", "\n    "))
    return only(read(tmp_path, "\n".join(line[4:] for line in text.splitlines())).of(GroupInit)).backend


DEFAULTS = {
    "found = args.name.lower()": "net-small",
    "found = args.name.replace('Net', 'net')": "net-small",
    "found = args.name.split('-')[1]": "small",
    "kind, found = args.name.split('-')": "small",
    "found, _, size = args.name.partition('-')": "Net",
    "for name in args.name.split(','):\n    kind, found = name.lower().split('-')": "small",
    "found = args.name.startswith('Net')": True,
    "kind, found = args.names.split('-')": None,  # in three parts: it raises
    "found = args.name.split('-')[-2]": "Net",
    "found = args.name.split('-')[-3]": None,
    "found = args.given.split('-')[0]": None,
    "found = args.name.split(args.given)[0]": None,
    "for name in args.names.split(','):\n    found = name": None,  # one of two
}


@pytest.mark.parametrize("lines", DEFAULTS)
def test_what_is_made_of_an_option_is_one(tmp_path, lines):
    value = found(tmp_path, lines)
    assert "configuration" in value.taint
    assert getattr(value.default, "value", None) == DEFAULTS[lines]

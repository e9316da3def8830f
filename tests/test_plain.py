"""A command line that is read without click says what click would have read."""

import contextlib
import shlex

import click
import pytest

from ddpdoctor import cli
from ddpdoctor.plain import plainly_given

PLAIN = [
    "",
    "train.py",
    "- src a.ipynb",
    "--source-only train.py --preview",
    "train.py --format json --fail-on=never b.py",
    "--ranks 4 --steps=7 --timeout 1.5 --jobs ' 3' train.py",
    "--select a,b --select=c --ignore d .",
    "--severity note --confidence high --severity error",
    "--baseline known.json --write-baseline --output out.txt --stdin-filename x.py -",
    "--output= --baseline '' train.py",
    "--run --probe --run train.py",
]
FOR_CLICK = [
    "--help",
    "-h",
    "train.py -- --epochs 3",
    "--nonsense",
    "-m train",
    "--format",
    "--format yaml",
    "--format JSON",
    "--ranks two",
    "--timeout soon",
    "--source-only=yes",
    "--steps -1",
    "--output --run",
    "--sour",
]


def by_click(arguments: list[str]) -> dict[str, object]:
    return cli.check.make_context("check", list(arguments)).params


@pytest.mark.parametrize("line", PLAIN)
def test_it_is_read_as_by_click(line):
    arguments = shlex.split(line)
    assert plainly_given(arguments) == by_click(arguments)


@pytest.mark.parametrize("line", FOR_CLICK)
def test_what_is_not_plain_is_left_to_click(line):
    assert plainly_given(shlex.split(line)) is None


@pytest.mark.parametrize("text", ["", "-", "--", "a", "-x", "--run", "3", "json", "=", "--run=1"])
def test_whatever_stands_after_an_option_is_read_as_by_click_or_left_to_it(text):
    for option in cli.check.params:
        if isinstance(option, click.Option):
            for arguments in ([*option.opts, text], [f"{option.opts[0]}={text}"], [text, *option.opts]):
                given = plainly_given(arguments)
                with contextlib.suppress(click.ClickException):
                    assert given is None or given == by_click(arguments)
                    continue
                assert given is None, arguments

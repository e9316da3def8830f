"""Choices of more values than are kept apart."""

import pytest

from ddpdoctor.atom import Atom, Literal
from ddpdoctor.reader.abstract import Choice, Known, Rest
from ddpdoctor.reader.cells import MAX_OPTIONS, choice


def under(name, by_default=None):
    return frozenset({Literal(Atom(name, "configuration", by_default=by_default), True)})


def kept(found):
    value = choice(found)
    assert isinstance(value, Choice)
    assert isinstance(value.options[-1][1], Rest)
    return [option.value for _, option in value.options[:-1]]


@pytest.mark.parametrize("at", [0, MAX_OPTIONS, MAX_OPTIONS + 2])
def test_the_value_of_a_run_without_options_is_among_those_that_are_kept(at):
    found = [(under(f"option {i}", by_default=False), Known(i)) for i in range(MAX_OPTIONS + 3)]
    found[at] = (under("no option", by_default=True), Known("usual"))
    assert "usual" in kept(found)


def test_the_first_are_kept_where_options_decide_nothing():
    found = [(under(f"test {i}"), Known(i)) for i in range(MAX_OPTIONS + 3)]
    assert kept(found) == list(range(MAX_OPTIONS))
